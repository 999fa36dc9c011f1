"""A fake Spark that runs nothing: its statements return the rows, the delay and the error that the test sets."""

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from headgate.facts.caller import Caller
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statements import CANCELLED, Column, StatementError, StatementProgress, StatementRequest

PATIENCE = 20.0
"""Seconds after which a statement that the test does not release fails the test instead of blocking it."""


class FakeReading:
    """A fake of `headgate.spark.sql.statements.Execution`.

    It continues when `go` is set, and records the calls to it.
    """

    def __init__(
        self, wanted: StatementRequest, batches: Sequence[pa.RecordBatch], error: StatementError | None
    ) -> None:
        self.progress = StatementProgress(stages=2, stages_done=1, tasks=8, tasks_done=3, tasks_running=2, bytes=1000)
        self.wanted = wanted
        self.go = threading.Event()
        self.closed = threading.Event()
        self.more = False
        self.why: str | None = None
        self.refused: StatementError | None = None
        self.readers = list[Caller]()
        """The callers that the rows were decided for."""
        self._batches = batches
        self._error = error

    def open(self) -> tuple[tuple[Column, ...], pa.Schema]:
        """Wait until the test lets the statement continue."""
        assert self.go.wait(PATIENCE), "the test did not release the statement"
        if self.why is not None:
            raise StatementError(f"the statement was cancelled: {self.why}", CANCELLED, "CANCELLED")
        if self._error is not None:
            raise self._error
        schema = self._batches[0].schema
        return tuple(Column(field.name, str(field.type)) for field in schema), schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the requested number of rows."""
        left = self.wanted.rows
        for each in self._batches:
            yield each.slice(0, left)
            if each.num_rows > left:
                self.more = True
                return
            left -= each.num_rows

    def decide_again(self, caller: Caller) -> None:
        """Raise the refusal that the test has set, if any."""
        self.readers.append(caller)
        if self.refused is not None:
            raise self.refused

    def cancel(self, why: str) -> None:
        """Cancel the statement."""
        self.why = self.why or why
        self.go.set()

    def close(self) -> None:
        """Record that the statement was closed."""
        self.closed.set()


class FakeSpark:
    """A fake of `headgate.spark.sql.statements.StatementRunner`. `begun` are its statements, with their credentials."""

    def __init__(
        self, *batches: pa.RecordBatch, error: StatementError | None = None, waits: bool = False, slow: float = 0.0
    ) -> None:
        self.begun: list[tuple[PresentedCredential, FakeReading]] = []
        self.closed = False
        self._batches = batches or (pa.RecordBatch.from_pydict({"n": [1]}),)
        self._error = error
        self._waits = waits
        self._slow = slow

    @property
    def last(self) -> FakeReading:
        """Return the newest statement."""
        return self.begun[-1][1]

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> FakeReading:
        """Start a statement that continues at once, after the `slow` seconds, or when the test releases it."""
        reading = FakeReading(wanted, self._batches, self._error)
        if self._slow:
            threading.Timer(self._slow, reading.go.set).start()
        elif not self._waits:
            reading.go.set()
        self.begun.append((credential, reading))
        return reading

    def close(self) -> None:
        """Record the call."""
        self.closed = True
