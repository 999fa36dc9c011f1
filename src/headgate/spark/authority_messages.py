"""The gateway's questions as messages: each kind has a path of its own."""

from dataclasses import dataclass
from typing import Final

from headgate.spark.authority import Credential, Running

PREFIX: Final = "/gateway/v1/"


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Who is calling?"""

    credential: Credential


@dataclass(frozen=True, slots=True)
class Open:
    """A session on that start of that driver, please."""

    credential: Credential
    session_id: str
    driver: str
    generation: int


@dataclass(frozen=True, slots=True)
class Close:
    """This handle is not needed any more."""

    handle: str


@dataclass(frozen=True, slots=True)
class MayTouch:
    """May they do this (`path.read`) with this file?"""

    credential: Credential
    action: str
    path: str


@dataclass(frozen=True, slots=True)
class Decide:
    """May the results of this operation be given out now?"""

    running: Running


def path_of(kind: type[object]) -> str:
    """Return where messages of a kind are sent."""
    return PREFIX + kind.__name__.lower()
