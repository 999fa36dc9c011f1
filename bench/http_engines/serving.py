"""The port that a compared server implements."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from bench.decision_engines.oracle import Question
from bench.decision_engines.organization import Grant, Organization
from bench.http_engines.case import Case, Exchange

BATCH = 100
"""The number of questions in a batch."""


class Serving(ABC):
    """A running server with the organization. Its cases are created before the measurement."""

    name: ClassVar[str]
    port: int

    @classmethod
    def missing(cls) -> str | None:
        """Return how to install what is missing; None if nothing is."""
        return None

    @abstractmethod
    def __init__(self, organization: Organization) -> None:
        """Start the server and load the organization."""

    @abstractmethod
    def says(self, body: bytes) -> Any:
        """Return the result in a response: whether the action is allowed, a list for a batch, or True for a successful write."""

    @abstractmethod
    def table(self, question: Question) -> bytes:
        """Return the request that asks whether a user has a level on a table."""

    @abstractmethod
    def pipeline(self, question: Question, *, right: bool) -> Case:
        """Return the request that asks whether a user has a level on every table that a pipeline's enabled edges use."""

    @abstractmethod
    def batch(self, questions: Sequence[Question]) -> bytes:
        """Return the request that asks about several tables at once."""

    def revoke(self, grant: Grant) -> Case | None:  # noqa: ARG002 - for servers that support it
        """Return the requests that revoke a user's grant on a table and check the table, and those that grant it again."""
        return None

    def grant(self, grant: Grant) -> Exchange | None:  # noqa: ARG002
        """Return the request that grants it."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Stop the started processes."""
