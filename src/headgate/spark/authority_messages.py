"""The gateway's questions as HTTP messages; each kind has its own path."""

from dataclasses import dataclass
from typing import Final

from headgate.spark.authority import PresentedCredential, Running

PREFIX: Final = "/gateway/v1/"


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Asks for the caller of a credential."""

    credential: PresentedCredential


@dataclass(frozen=True, slots=True)
class Open:
    """Asks to open a session on one start of a driver."""

    credential: PresentedCredential
    session_id: str
    driver: str
    generation: int


@dataclass(frozen=True, slots=True)
class Close:
    """Invalidates a handle."""

    handle: str


@dataclass(frozen=True, slots=True)
class MayAccessMessage:
    """Asks whether the caller may perform an action (such as `path.read`) on a path."""

    credential: PresentedCredential
    action: str
    path: str


@dataclass(frozen=True, slots=True)
class DecideMessage:
    """Asks whether the results of an operation may be returned now."""

    running: Running


def message_path(kind: type[object]) -> str:
    """Return the path for messages of this kind."""
    return PREFIX + kind.__name__.lower()
