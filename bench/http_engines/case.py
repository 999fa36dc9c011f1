"""The requests to a server, and their expected responses."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it is sent, and the expected response."""

    request: bytes
    right: Any


@dataclass(frozen=True, slots=True)
class Case:
    """Requests that one client sends one after the other: those that are timed together, and those that undo them."""

    timed: tuple[Exchange, ...]
    after: tuple[Exchange, ...] = ()


class WrongAnswerError(Exception):
    """A server and the oracle disagree."""
