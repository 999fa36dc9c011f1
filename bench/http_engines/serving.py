"""What a server has to be able to do to be compared."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from bench.decision_engines.oracle import Question
from bench.decision_engines.organization import Grant, Organization
from bench.http_engines.case import Case, Exchange

BATCH = 100
"""So many questions in one batch."""


class Serving(ABC):
    """A running server of the organization. Its cases are made before the clock starts."""

    name: ClassVar[str]
    port: int

    @classmethod
    def missing(cls) -> str | None:
        """Return what has to be installed first, or None."""
        return None

    @abstractmethod
    def __init__(self, organization: Organization) -> None:
        """Start it and load the organization."""

    @abstractmethod
    def says(self, body: bytes) -> Any:
        """Return what an answer says: whether it is allowed, a list of that for a batch, True for what was done."""

    @abstractmethod
    def table(self, question: Question) -> bytes:
        """Return the request that asks whether a user has a level on a table."""

    @abstractmethod
    def pipeline(self, question: Question, *, right: bool) -> Case:
        """Return what asks for a level on every table that a pipeline's enabled edges touch."""

    @abstractmethod
    def batch(self, questions: Sequence[Question]) -> bytes:
        """Return the request that asks about tables, many at once."""

    def revoke(self, grant: Grant) -> Case | None:  # noqa: ARG002 - for those who can
        """Return what takes a user's grant on a table away and asks for the table; afterwards it is given back."""
        return None

    def grant(self, grant: Grant) -> Exchange | None:  # noqa: ARG002
        """Return what gives it."""
        return None

    @abstractmethod
    def close(self) -> None:
        """End what was started."""
