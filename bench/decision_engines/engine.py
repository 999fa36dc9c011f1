"""What an engine has to be able to do to be compared."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar

from .oracle import Question
from .organization import Grant, Organization

Check = Callable[[], bool]
List = Callable[[], Collection[str]]


class Engine(ABC):
    """One engine, made for one organization. A question's method returns the call that asks it: only that is timed."""

    name: ClassVar[str]

    @classmethod
    def missing(cls) -> str | None:
        """Return what has to be installed first, or None."""
        return None

    @classmethod
    @abstractmethod
    def prepare(cls, organization: Organization) -> Any:
        """Return the organization in the form that the engine reads."""

    def __init__(self, organization: Organization) -> None:
        """Start what has to run. What the engine cannot hold itself is looked up in `organization`."""
        self.organization = organization

    @abstractmethod
    def load(self, prepared: Any) -> None:
        """Read what was prepared; every question can be asked from then on."""

    @abstractmethod
    def table(self, question: Question) -> Check:
        """Ask whether a user has a level on a table."""

    @abstractmethod
    def pipeline(self, question: Question) -> Check:
        """Ask whether a user has a level on every table that a pipeline's enabled edges touch."""

    @abstractmethod
    def readable(self, user: str) -> List:
        """Ask for every table that the user may read."""

    @abstractmethod
    def readers(self, table: str) -> List:
        """Ask for every user who may read the table."""

    @property
    def process(self) -> int:
        """The process whose memory the engine uses."""
        return os.getpid()

    def close(self) -> None:  # noqa: B027 - most have started nothing
        """End what was started."""


class ChangingEngine(Engine):
    """An engine that holds the grants itself, and can be told of a change."""

    @abstractmethod
    def revoke(self, grant: Grant) -> Check:
        """Take a user's grant on a table away, and ask at once whether the user may still read the table."""

    @abstractmethod
    def restore(self, grant: Grant) -> None:
        """Give back what was revoked."""
