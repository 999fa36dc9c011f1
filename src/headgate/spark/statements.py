"""What a statement gives back, without loading PySpark."""

from dataclasses import dataclass
from typing import Any, Protocol

REFUSED = "42501"
"""The SQLSTATE of a refusal, by whoever refuses."""
NOT_READY = "Spark is starting; try again in a few seconds"


class StatementError(Exception):
    """Spark or the guard did not run a statement; `sqlstate` is `REFUSED` where it was a refusal."""

    def __init__(self, message: str, sqlstate: str | None, condition: str | None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.condition = condition


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned: at most the rows asked for, and whether there were more."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


class RunsStatements(Protocol):
    """Runs SQL as the holder of a token."""

    def run(self, token: str, statement: str, limit: int) -> Rows:
        """Run one statement and return at most `limit` rows; raises `StatementError`."""
        ...


def own_words(error: Exception) -> str:
    """Return what an error of Spark's client says, without the stack trace that it may carry."""
    return str(error).split("JVM stacktrace")[0].strip()
