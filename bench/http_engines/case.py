"""What is sent to a server, and what has to come back."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it is sent, and what the answer has to say."""

    request: bytes
    right: Any


@dataclass(frozen=True, slots=True)
class Case:
    """Requests that one client sends one after the other: those that are timed together, and what undoes them."""

    timed: tuple[Exchange, ...]
    after: tuple[Exchange, ...] = ()


class WrongAnswerError(Exception):
    """A server says something else than the oracle."""
