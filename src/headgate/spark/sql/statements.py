"""Statements over HTTP: what is asked, what comes of it, and who runs it, without loading PySpark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headgate.control.text.error_text import REFUSED_STATE

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.facts.caller import Caller
    from headgate.spark.authority import PresentedCredential

CANCELLED = "57014"
"""The SQLSTATE of a statement that was ended before it was done."""
NOT_CONNECTED = "08001"
"""The SQLSTATE of a call that reached no driver: nothing has run."""
DRIVER_LOST = "08006"
"""The SQLSTATE of a statement whose driver ended while it ran."""
NOT_READY = "Spark is starting; try again in a few seconds"
WITHOUT_SPARK = "this server runs without Spark (`HEADGATE_SPARK=0`); send the statement to a server that has Spark"
NO_DRIVER = "this organization has no Spark here; the operator adds its id to `HEADGATE_SPARK_ORGANIZATIONS`"
STATEMENT_LOST = (
    "the Spark driver ended while it ran this statement, and the statement was not run again; "
    "check what it has changed before you send it again"
)

SEVERAL, TOO_MANY, LOST, NO_SPARK = "SEVERAL_STATEMENTS", "TOO_MANY_STATEMENTS", "STATEMENT_LOST", "NO_SPARK"
"""Conditions of Headgate's own: several statements in the text, too many running, the driver ended, a server without Spark."""

Scalar = str | int | float | bool | None
Parameters = Mapping[str, Scalar] | Sequence[Scalar]
"""Values for `:name`, or for each `?` in order."""


class StatementError(Exception):
    """Spark or the guard did not run a statement; `sqlstate` is `error_text.REFUSED` where it was a refusal."""

    def __init__(self, message: str, sqlstate: str | None, condition: str | None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.condition = condition


class RowsDeniedError(StatementError):
    """The caller may not read the rows of a statement now. The guard does not see this denial: no statement runs."""

    def __init__(self, message: str) -> None:
        super().__init__(message, REFUSED_STATE, None)


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one statement over HTTP may take, and how many there may be. Times in seconds.

    `kept_bytes` is for rows that are kept to be fetched, `kept_seconds` how long they are after they were read last.
    """

    rows: int = 10_000_000
    bytes: int = 4 * 1024**3
    seconds: float = 3600.0
    kept_bytes: int = 16 * 1024**2
    kept_seconds: float = 300.0
    at_once: int = 16
    """How many statements of one principal run, are streamed or are kept, whatever tokens they came with."""


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """One statement as somebody sends it, and how much of its result is wanted at most."""

    text: str
    parameters: Parameters | None
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StatementProgress:
    """How far Spark says that a statement is. `bytes` are those read so far."""

    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
    tasks_running: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result, with its type in Spark's words."""

    name: str
    type: str


class Execution(Protocol):
    """One statement on Spark, read batch by batch."""

    @property
    def progress(self) -> StatementProgress:
        """How far it is."""
        ...

    @property
    def more(self) -> bool:
        """Whether there were more rows than were wanted; known when all of them are read."""
        ...

    def open(self) -> "tuple[tuple[Column, ...], pa.Schema]":
        """Run it until its first rows are there, and return what they will be. Raises `StatementError`."""
        ...

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows as Spark makes them. Raises `StatementError`."""
        ...

    def decide_again(self, caller: "Caller") -> None:
        """Raise `StatementError` unless the caller may read now what was read. Also once it is closed."""
        ...

    def cancel(self, why: str) -> None:
        """End it: whoever reads hears why. What has ended stays as it is. From any thread."""
        ...

    def close(self) -> None:
        """Let go of it; what is still under way ends."""
        ...


class StatementRunner(Protocol):
    """Runs SQL as the holder of a credential, in the organization that it names."""

    def begin(self, credential: "PresentedCredential", wanted: StatementRequest) -> Execution:
        """Return a statement that is about to run; returns at once."""
        ...

    def close(self) -> None:
        """End every session."""
        ...
