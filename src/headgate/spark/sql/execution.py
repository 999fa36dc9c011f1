"""Execution of one statement on Spark Connect: read batch by batch, and cancelled from another thread."""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pyarrow as pa
from pyspark.errors import PySparkAssertionError, PySparkException
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from typing_extensions import override

from headgate.control.text.error_text import REFUSED_STATE, visible_words
from headgate.facts.caller import Caller
from headgate.spark.authority import PresentedCredential
from headgate.spark.sessions.result_privileges import ResultPrivileges
from headgate.spark.sql.client_sessions import ClientSession, ClientSessions
from headgate.spark.sql.statement_count import has_several_statements
from headgate.spark.sql.statements import (
    CANCELLED,
    DRIVER_LOST,
    LOST,
    NOT_CONNECTED,
    NOT_READY,
    SEVERAL,
    STATEMENT_LOST,
    Column,
    RowsDeniedError,
    StatementError,
    StatementProgress,
    StatementRequest,
)

log = logging.getLogger(__name__)

_AGAIN = 1.0
"""Seconds after which an interrupt is repeated: one that arrives before the operation has begun has no effect."""

_PATIENCE = 10.0
"""Seconds after which the call is cancelled if the driver does not react to the interrupt."""

_UNKNOWN = "Headgate has no record of the privileges that the rows of the statement require; run the statement again"
_ANY_SETTING = "spark.sql.session.timeZone"

_here = threading.local()
"""The statement that this thread reads: Spark's client reports progress and operations without naming their statement."""

RegisterOperation = Callable[[str], ResultPrivileges]
"""Returns the object that collects the required privileges of the operation with this id."""


def on_progress(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001, FBT001 (as called)
    """Store the progress that Spark's client reports, in the reading thread."""
    reading: StatementExecution | None = getattr(_here, "reading", None)
    known = tuple(stages)
    if reading is not None and known:
        reading.progress = StatementProgress(
            stages=len(known),
            stages_done=sum(each.done for each in known),
            tasks=sum(each.num_tasks for each in known),
            tasks_done=sum(each.num_completed_tasks for each in known),
            tasks_running=inflight_tasks,
            bytes=sum(each.num_bytes_read for each in known),
        )


class OperationIds(grpc.UnaryStreamClientInterceptor):
    """Registers each operation with the statement that this thread reads, before the operation is sent."""

    @override
    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Send the call. Spark's client sends operations by this kind of call, and reattaches to their results."""
        reading: StatementExecution | None = getattr(_here, "reading", None)
        if reading is not None:
            # Without an id, the gateway would choose one, which could not be registered.
            request.operation_id = request.operation_id or str(uuid.uuid4())
            reading.register(request.operation_id)
            return reading.hold(continuation(client_call_details, request))
        return continuation(client_call_details, request)


class StatementExecution:
    """Implements `headgate.spark.sql.statements.Execution`: one thread at a time reads it, any thread may cancel it."""

    def __init__(
        self,
        sessions: ClientSessions,
        credential: PresentedCredential,
        wanted: StatementRequest,
        register: RegisterOperation,
    ) -> None:
        self.progress = StatementProgress()
        self.more = False
        self._sessions = sessions
        self._credential = credential
        self._wanted = wanted
        self._register = register
        self._operations: dict[str, ResultPrivileges] = {}
        """Spark's client runs a statement as up to two operations; the first runs commands and scripts."""
        self._tag = f"headgate-{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._busy = threading.Lock()
        self._why: str | None = None
        self._ended = threading.Event()
        self._call: Any = None
        self._is_given_up = False
        self._session: ClientSession | None = None
        self._rows: Iterator[Any] = iter(())
        self._first: pa.RecordBatch | None = None
        self._timer = threading.Timer(wanted.seconds, self.cancel, (f"it took longer than {wanted.seconds:g} seconds",))
        self._timer.daemon = True

    def open(self) -> tuple[tuple[Column, ...], pa.Schema]:
        """Run the statement until its first rows arrive; return its columns and Arrow schema. Raises `StatementError`."""
        self._session = self._sessions.take(self._credential)
        self._timer.start()
        return self._run_guarded(self._open)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Spark computes them. Raises `StatementError`."""
        rows, size = self._wanted.rows, self._wanted.bytes
        while (batch := self._run_guarded(self._next)) is not None:
            kept = batch.slice(0, rows)
            size -= kept.nbytes
            if size < 0:
                self.more = True
                return
            rows -= kept.num_rows
            if kept.num_rows:
                yield kept
            if batch.num_rows > kept.num_rows:
                self.more = True
                return

    def register(self, operation: str) -> None:
        """Start to record the required privileges of an operation. A repeated id is the same operation and has no effect."""
        if operation not in self._operations:
            self._operations[operation] = self._register(operation)

    def hold(self, call: Any) -> Any:
        """Store the call whose responses this thread reads, and return it."""
        self._call = call
        if self._is_given_up:
            call.cancel()
        return call

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may still read the rows that were read; works after `close`, too.

        The check uses the recorded privileges of the operations: a new analysis of the text could find rows without a
        plan, or names that now denote other resources.
        """
        operations = tuple(self._operations.values())
        refusals = (each.refusal(caller) for each in operations) if operations else iter((_UNKNOWN,))
        why = next((each for each in refusals if each is not None), None)
        if why is not None:
            raise RowsDeniedError(why)

    def cancel(self, why: str) -> None:
        """Cancel the statement; its reader gets an error with `why`. No effect on one that has ended. Thread-safe."""
        with self._lock:
            if self._why is not None or self._ended.is_set():
                return
            self._why = why
        threading.Thread(target=self._interrupt, name="headgate-cancel", daemon=True).start()
        threading.Thread(target=self._give_up, name="headgate-give-up", daemon=True).start()

    def close(self) -> None:
        """Release the statement; if it still runs, it is cancelled."""
        self._timer.cancel()
        # Wait for the reader: a generator cannot be closed while it is being read.
        with self._busy:
            if self._ended.is_set():
                return
            self._ended.set()
            close = getattr(self._rows, "close", None)
            if close is not None:
                close()
            if self._session is not None:
                self._sessions.give_back(self._session)

    def _open(self) -> tuple[tuple[Column, ...], pa.Schema]:
        self._go_on()
        spark = self._live_spark()
        self._go_on()
        # The tag is thread-local; every call that starts in this block has it.
        spark.addTag(self._tag)
        try:
            frame = spark.sql(self._wanted.text, self._parameters())
            self._go_on()
            # The public calls return everything at once, or row by row.
            limited: Any = frame.limit(self._wanted.rows + 1)
            self._rows = _tables(spark, limited._plan.to_proto(spark.client))  # noqa: SLF001
            schema = next(self._rows)
        finally:
            spark.removeTag(self._tag)
        # A failure at the first rows must be raised before the caller receives a success.
        self._first = next(self._rows, None)
        columns = tuple(Column(field.name, field.dataType.simpleString()) for field in schema.fields)
        return columns, self._first.schema if self._first is not None else to_arrow_schema(schema)

    def _next(self) -> pa.RecordBatch | None:
        self._go_on()
        first, self._first = self._first, None
        return first if first is not None else next(self._rows, None)

    def _parameters(self) -> Any:
        given = self._wanted.parameters
        return None if given is None else dict(given) if isinstance(given, dict) else list(given)

    def _spark(self) -> SparkSession:
        assert self._session is not None  # noqa: S101 (`open` took it)
        return self._session.spark(self._sessions.connect)

    def _live_spark(self) -> SparkSession:
        """Return the session, replaced once by a new one if its driver has ended since the last use.

        A call without an effect, which the client does not cache, detects that. The statement itself is sent only once,
        because after a lost connection it may have had its effect.
        """
        assert self._session is not None  # noqa: S101 (`open` took it)
        if not self._session.is_open:
            return self._spark()
        try:
            self._spark().conf.get(_ANY_SETTING)
        except PySparkException as error:
            if not is_session_lost(error):
                raise
            self._renew_session(self._session)
        return self._spark()

    def _renew_session(self, lost: ClientSession) -> None:
        self._sessions.forget(lost)
        self._session = self._sessions.take(self._credential)
        self._sessions.give_back(lost)

    def _go_on(self) -> None:
        if self._why is not None:
            raise self._cancelled()

    def _run_guarded(self, work: Any) -> Any:
        """Run work of Spark's client, and translate its errors to `StatementError`."""
        with self._busy:
            _here.reading = self
            try:
                return work()
            except PySparkException as error:
                raise self._error(error) from None
            finally:
                _here.reading = None

    def _error(self, error: PySparkException) -> StatementError:
        if self._why is not None and error.getSqlState() != REFUSED_STATE:
            return self._cancelled()
        condition, state = error.getCondition(), error.getSqlState()
        if (state in (None, DRIVER_LOST) or is_session_lost(error)) and self._session is not None:
            # The error is not about the statement: the session is lost, together with its driver.
            self._sessions.forget(self._session)
        if state == DRIVER_LOST or is_session_lost(error):
            return StatementError(STATEMENT_LOST, DRIVER_LOST, LOST)
        if condition == "RETRIES_EXCEEDED" or NOT_READY in str(error):
            return StatementError(NOT_READY, NOT_CONNECTED, "UNAVAILABLE")
        if condition == "PARSE_SYNTAX_ERROR" and has_several_statements(self._wanted.text):
            text = "the request contains several statements; send them one by one, or put all of them between `BEGIN` and `END`"
            return StatementError(text, state, SEVERAL)
        return StatementError(visible_words(error), state, condition)

    def _cancelled(self) -> StatementError:
        return StatementError(
            f"the statement was cancelled: {self._why}; check what it has changed before you send it again",
            CANCELLED,
            "CANCELLED",
        )

    def _interrupt(self) -> None:
        session = self._session
        while session is not None and not self._ended.is_set():
            try:
                session.spark(self._sessions.connect).interruptTag(self._tag)
            except PySparkException:
                return  # the reader gets the same error, or the session has ended
            except Exception:
                log.exception("the cancellation of a statement failed; the server tries again in %g s", _AGAIN)
            self._ended.wait(_AGAIN)

    def _give_up(self) -> None:
        if not self._ended.wait(_PATIENCE):
            self._is_given_up = True
            if self._call is not None:
                self._call.cancel()


def is_session_lost(error: PySparkException) -> bool:
    """Whether an error means that the session is lost, and is not about the statement."""
    # Spark's client itself closes a session if a driver with another id responds, and then raises one of these errors.
    condition = str(error.getCondition())
    is_other_driver = isinstance(error, PySparkAssertionError) and "server side session" in str(error)
    return condition == "NO_ACTIVE_SESSION" or condition.startswith("INVALID_HANDLE") or is_other_driver


def _tables(spark: SparkSession, plan: Any) -> Iterator[Any]:
    """Yield the schema of a result, and then its batches."""
    for each in spark.client.to_table_as_iterator(plan, {}):
        if isinstance(each, StructType):
            yield each
        else:
            yield from each.to_batches()
