"""A statement over HTTP is sent at most once, and its rows are returned under the privileges of its operations."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkAssertionError, PySparkException
from pyspark.errors.exceptions.connect import SparkConnectException, SparkConnectGrpcException
from pyspark.sql.connect.proto import ExecutePlanRequest
from pyspark.sql.types import IntegerType, StructField, StructType

from headgate.control.text.error_text import REFUSED_STATE
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege
from headgate.spark.sessions.result_privileges import ResultPrivilegeRegistry
from headgate.spark.sql.client_sessions import ClientSessions
from headgate.spark.sql.execution import OperationIds, StatementExecution
from headgate.spark.sql.statements import RowsDeniedError, StatementError, StatementRequest

ANN = Caller(PrincipalId("ann"))
READ = RequiredName(action="table.select", object=("lake", "raw", "t"))
SCHEMA = StructType([StructField("n", IntegerType())])

SOON = 30.0

LOST: dict[str, PySparkException] = {
    "the client closed itself": SparkConnectException(errorClass="NO_ACTIVE_SESSION", messageParameters={}),
    "the gateway ended it": SparkConnectGrpcException("gone", errorClass="INVALID_HANDLE.SESSION_NOT_FOUND"),
    "the driver is another": SparkConnectGrpcException("gone", errorClass="INVALID_HANDLE.SESSION_CHANGED"),
    "the client sees another driver": PySparkAssertionError("Received incorrect server side session identifier"),
}


class Rights:
    """Decisions that refuse while a reason is set."""

    why: str | None = None

    def refusal(self, _: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        return self.why if needs else None

    def resource(self, _: RequiredPrivilege) -> None:
        return None


class Call:
    """A call that never gets an answer."""

    def __init__(self) -> None:
        self.is_cancelled = threading.Event()
        self.cancel = self.is_cancelled.set


class Driver:
    """A driver that runs statements and records them."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str]] = []
        self.sessions = 0
        self.on_probe: dict[int, PySparkException] = {}
        self.on_statement: dict[int, PySparkException] = {}
        self.has_ids = True
        self.is_silent = False
        self.operations: list[str] = []
        self.calls: list[Call] = []
        self.result_privileges = ResultPrivilegeRegistry()
        self.rights = Rights()
        self.reads: str | None = None
        """The operation that reads a table, if there is one; the other operations need no privilege."""

    def execute(self, operation: str) -> None:
        """Send an operation as Spark's client does: through the interceptor, and again after a lost connection."""
        needs = (READ,) if operation == self.reads else ()

        def ask(_: object, request: Any) -> Call:
            self.operations.append(request.operation_id)
            self.result_privileges.record(request.operation_id, self.rights, needs)
            self.calls.append(Call())
            return self.calls[-1]

        request = ExecutePlanRequest(operation_id=operation if self.has_ids else "")
        for _ in range(2):
            OperationIds().intercept_unary_stream(ask, None, request)

    def connect(self, token: str) -> "Session":
        self.sessions += 1
        return Session(self, self.sessions)


class Session:
    """The session with this number, with the methods of Spark's client that read."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver = driver
        self.number = number
        self.client = self
        self.conf = self._plan = self

    def get(self, _: str) -> str:
        if self.number in self.driver.on_probe:
            raise self.driver.on_probe[self.number]
        return "UTC"

    def sql(self, text: str, _: Any) -> "Session":
        self.driver.sent.append((self.number, text))
        self.driver.execute("command")
        if self.number in self.driver.on_statement:
            raise self.driver.on_statement[self.number]
        return self

    def limit(self, _: int) -> "Session":
        return self

    def to_proto(self, _: Any) -> "Session":
        return self

    def to_table_as_iterator(self, *_: Any) -> Iterator[Any]:
        self.driver.execute("rows")
        if self.driver.is_silent:
            self.driver.calls[-1].is_cancelled.wait(SOON)
            self.driver.execute("rows")  # as Spark's client does to fetch answers that a driver has not sent yet
            raise SparkConnectGrpcException("cancelled")
        yield SCHEMA

    def addTag(self, tag: str) -> None:  # noqa: N802 (Spark's name)
        pass

    removeTag = addTag  # noqa: N815 (Spark's name)
    stop = close = interruptTag = lambda *_: None  # noqa: N815 (Spark's names)


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def sessions(driver: Driver) -> ClientSessions:
    opened = ClientSessions(driver.connect)  # pyright: ignore[reportArgumentType]
    run(opened, "first")
    return opened


def run(sessions: ClientSessions, text: str) -> None:
    """Run a statement to its end."""
    reading = StatementExecution(
        sessions,
        PresentedCredential("token"),
        StatementRequest(text, None, 10, 1000, 60),
        ResultPrivilegeRegistry().register,
    )
    try:
        reading.open()
        list(reading.batches())
    finally:
        reading.close()


class TestASessionThatIsGone:
    @pytest.mark.parametrize("how", LOST)
    def test_a_lost_session_is_replaced_before_the_statement_is_sent(
        self, driver: Driver, sessions: ClientSessions, how: str
    ) -> None:
        driver.on_probe[1] = LOST[how]

        run(sessions, "second")
        run(sessions, "third")

        assert driver.sent == [(1, "first"), (2, "second"), (2, "third")]

    def test_a_lost_session_is_replaced_only_once_for_a_statement(
        self, driver: Driver, sessions: ClientSessions
    ) -> None:
        lost = LOST["the gateway ended it"]
        driver.on_probe, driver.on_statement = {1: lost, 2: lost}, {2: lost}

        with pytest.raises(StatementError):
            run(sessions, "second")

        assert driver.sent == [(1, "first"), (2, "second")]

    @pytest.mark.parametrize("how", LOST)
    def test_a_statement_is_not_sent_again_after_its_session_is_lost(
        self, driver: Driver, sessions: ClientSessions, how: str
    ) -> None:
        driver.on_statement[1] = LOST[how]

        with pytest.raises(StatementError, match="check what it has changed before you send it again"):
            run(sessions, "INSERT INTO t VALUES (1)")
        run(sessions, "next")

        assert driver.sent == [(1, "first"), (1, "INSERT INTO t VALUES (1)"), (2, "next")]

    def test_an_error_other_than_a_lost_session_does_not_replace_the_session(
        self, driver: Driver, sessions: ClientSessions
    ) -> None:
        driver.on_probe[1] = SparkConnectGrpcException("no", errorClass="RETRIES_EXCEEDED")

        with pytest.raises(StatementError, match="Spark is starting"):
            run(sessions, "second")

        assert driver.sessions == 1


class TestANewSession:
    def test_a_new_session_is_not_probed_before_its_first_statement(self, driver: Driver) -> None:
        driver.on_probe[1] = LOST["the gateway ended it"]

        run(ClientSessions(driver.connect), "first")  # pyright: ignore[reportArgumentType]

        assert driver.sent == [(1, "first")]


class TestACancelledStatement:
    def test_a_cancelled_statement_ends_even_if_its_driver_ignores_the_interrupt(
        self, driver: Driver, sessions: ClientSessions, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headgate.spark.sql.execution._PATIENCE", 0.1)
        wanted = StatementRequest("SELECT 1", None, 10, 1000, 60)
        reading = StatementExecution(sessions, PresentedCredential("token"), wanted, driver.result_privileges.register)
        driver.is_silent, first = True, len(driver.calls)
        threading.Timer(0.1, reading.cancel, ("the user cancelled it",)).start()

        with pytest.raises(StatementError, match="the user cancelled it"):
            reading.open()
        reading.close()

        assert [each.is_cancelled.is_set() for each in driver.calls[first:]] == [False] * 3 + [True] * 3


class TestKeptRows:
    def test_stored_rows_are_returned_while_the_caller_has_their_rights(self, driver: Driver) -> None:
        driver.reads = "rows"
        reading = read(driver)
        reading.decide_again(ANN)

        driver.rights.why = "ann: the right is gone"

        with pytest.raises(RowsDeniedError, match="ann: the right is gone") as raised:
            reading.decide_again(ANN)
        assert raised.value.sqlstate == REFUSED_STATE

    def test_stored_rows_need_the_rights_of_each_operation_of_their_statement(self, driver: Driver) -> None:
        driver.reads = "command"
        reading = read(driver)

        driver.rights.why = "ann: the right is gone"

        assert driver.operations == ["command", "command", "rows", "rows"]
        with pytest.raises(RowsDeniedError, match="ann: the right is gone"):
            reading.decide_again(ANN)

    def test_stored_rows_need_their_rights_if_the_client_names_no_operation(self, driver: Driver) -> None:
        driver.has_ids, driver.reads = False, "rows"
        reading = read(driver)

        driver.rights.why = "ann: the right is gone"

        assert all(driver.operations)
        with pytest.raises(RowsDeniedError):
            reading.decide_again(ANN)

    def test_stored_rows_of_an_unknown_operation_are_refused(self, sessions: ClientSessions) -> None:
        wanted = StatementRequest("SELECT 1", None, 10, 1000, 60)

        with pytest.raises(
            RowsDeniedError, match="no record of the privileges that the rows of the statement require"
        ) as raised:
            StatementExecution(
                sessions, PresentedCredential("token"), wanted, ResultPrivilegeRegistry().register
            ).decide_again(ANN)

        assert raised.value.sqlstate == REFUSED_STATE


def read(driver: Driver) -> StatementExecution:
    """Run a statement to its end, and return its closed execution."""
    sessions = ClientSessions(driver.connect)  # pyright: ignore[reportArgumentType]
    reading = StatementExecution(
        sessions,
        PresentedCredential("token"),
        StatementRequest("SELECT 1", None, 10, 1000, 60),
        driver.result_privileges.register,
    )
    reading.open()
    list(reading.batches())
    reading.close()
    return reading
