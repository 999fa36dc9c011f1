"""The gateway's questions as messages: each kind has a path of its own."""

from dataclasses import dataclass
from typing import Final

from headgate.spark.authority import PresentedCredential, Running

PREFIX: Final = "/gateway/v1/"


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Who is calling?"""

    credential: PresentedCredential


@dataclass(frozen=True, slots=True)
class Open:
    """A session on that start of that driver, please."""

    credential: PresentedCredential
    session_id: str
    driver: str
    generation: int


@dataclass(frozen=True, slots=True)
class Close:
    """This handle is not needed any more."""

    handle: str


@dataclass(frozen=True, slots=True)
class MayAccessMessage:
    """May they do this (`path.read`) with this file?"""

    credential: PresentedCredential
    action: str
    path: str


@dataclass(frozen=True, slots=True)
class DecideMessage:
    """May the results of this operation be given out now?"""

    running: Running


def message_path(kind: type[object]) -> str:
    """Return where messages of a kind are sent."""
    return PREFIX + kind.__name__.lower()
