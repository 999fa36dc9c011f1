"""Statements over HTTP: requests, results, errors and the interface of execution, without loading PySpark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headgate.control.text.error_text import REFUSED_STATE

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.facts.caller import Caller
    from headgate.spark.authority import PresentedCredential

CANCELLED = "57014"
"""The SQLSTATE of a statement that was cancelled."""
NOT_CONNECTED = "08001"
"""The SQLSTATE of a call that did not reach a driver: no statement has run."""
DRIVER_LOST = "08006"
"""The SQLSTATE of a statement whose driver ended while it ran."""
NOT_READY = "Spark is starting; try again in a few seconds"
WITHOUT_SPARK = "this server runs without Spark (`HEADGATE_SPARK=0`); send the statement to a server that has Spark"
NO_DRIVER = (
    "this server runs no Spark for the organization; ask the operator to add its id to `HEADGATE_SPARK_ORGANIZATIONS`"
)
STATEMENT_LOST = (
    "the Spark driver exited while it ran the statement, and the statement was not run again; "
    "check what it has changed before you send it again"
)

SEVERAL, TOO_MANY, LOST, NO_SPARK = "SEVERAL_STATEMENTS", "TOO_MANY_STATEMENTS", "STATEMENT_LOST", "NO_SPARK"
"""Headgate's own error conditions: several statements in the text, too many running, the driver ended, a server without Spark."""

Scalar = str | int | float | bool | None
Parameters = Mapping[str, Scalar] | Sequence[Scalar]
"""Values for `:name`, or for each `?` in order."""


class StatementError(Exception):
    """A statement failed; `sqlstate` is `error_text.REFUSED_STATE` if the guard refused it."""

    def __init__(self, message: str, sqlstate: str | None, condition: str | None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.condition = condition


class RowsDeniedError(StatementError):
    """The caller may not read the stored rows of a statement now. The guard does not see this denial: no statement runs."""

    def __init__(self, message: str) -> None:
        super().__init__(message, REFUSED_STATE, None)


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Limits of one statement over HTTP, and of the number of statements. Times are in seconds.

    `kept_bytes` limits the rows that are stored to be fetched; they are deleted `kept_seconds` after their last use.
    """

    rows: int = 10_000_000
    bytes: int = 4 * 1024**3
    seconds: float = 3600.0
    kept_bytes: int = 16 * 1024**2
    kept_seconds: float = 300.0
    at_once: int = 16
    """The limit of running, streamed and stored statements of one principal, over all of its tokens."""


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """One statement from a caller, and the limits of its result and time."""

    text: str
    parameters: Parameters | None
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StatementProgress:
    """The progress of a statement, as reported by Spark. `bytes` are those read until now."""

    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
    tasks_running: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result, with its type in Spark's syntax."""

    name: str
    type: str


class Execution(Protocol):
    """One statement on Spark, read batch by batch."""

    @property
    def progress(self) -> StatementProgress:
        """The progress of the statement."""
        ...

    @property
    def more(self) -> bool:
        """Whether there are more rows than the limit; known after all rows are read."""
        ...

    def open(self) -> "tuple[tuple[Column, ...], pa.Schema]":
        """Run the statement until its first rows arrive; return its columns and Arrow schema. Raises `StatementError`."""
        ...

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows as Spark computes them. Raises `StatementError`."""
        ...

    def decide_again(self, caller: "Caller") -> None:
        """Raise `StatementError` unless the caller may still read the rows that were read; works after `close`, too."""
        ...

    def cancel(self, why: str) -> None:
        """Cancel the statement; its reader gets an error with `why`. No effect on one that has ended. Thread-safe."""
        ...

    def close(self) -> None:
        """Release the statement; if it still runs, it is cancelled."""
        ...


class StatementRunner(Protocol):
    """Runs SQL with the credential of a caller, in the organization that the credential names."""

    def begin(self, credential: "PresentedCredential", wanted: StatementRequest) -> Execution:
        """Return a statement that is ready to run, without waiting."""
        ...

    def close(self) -> None:
        """End every session."""
        ...
