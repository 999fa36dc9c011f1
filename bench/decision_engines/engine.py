"""The port that a compared engine implements."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar

from .oracle import Question
from .organization import Grant, Organization

Check = Callable[[], bool]
List = Callable[[], Collection[str]]


class Engine(ABC):
    """One engine for one organization. The method of a question returns a function that asks it: only that call is timed."""

    name: ClassVar[str]

    @classmethod
    def missing(cls) -> str | None:
        """Return how to install what is missing; None if nothing is."""
        return None

    @classmethod
    @abstractmethod
    def prepare(cls, organization: Organization) -> Any:
        """Return the organization in the form that the engine reads."""

    def __init__(self, organization: Organization) -> None:
        """Start the engine. Data that the engine cannot hold is looked up in `organization`."""
        self.organization = organization

    @abstractmethod
    def load(self, prepared: Any) -> None:
        """Load the prepared data; after that, every question can be asked."""

    @abstractmethod
    def table(self, question: Question) -> Check:
        """Ask whether a user has a level on a table."""

    @abstractmethod
    def pipeline(self, question: Question) -> Check:
        """Ask whether a user has a level on every table that a pipeline's enabled edges use."""

    @abstractmethod
    def readable(self, user: str) -> List:
        """Ask for every table that the user may read."""

    @abstractmethod
    def readers(self, table: str) -> List:
        """Ask for every user that may read the table."""

    @property
    def process(self) -> int:
        """The process whose memory the engine uses."""
        return os.getpid()

    def close(self) -> None:  # noqa: B027 - most engines have no process
        """Stop the started processes."""


class ChangingEngine(Engine):
    """An engine that holds the grants itself, and supports changes."""

    @abstractmethod
    def revoke(self, grant: Grant) -> Check:
        """Revoke a user's grant on a table, and ask at once whether the user may still read the table."""

    @abstractmethod
    def restore(self, grant: Grant) -> None:
        """Grant again what was revoked."""
