"""A running operation ends when a privilege that it needs is revoked, and its client gets the reason."""

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.spark.gateway import operations, revocation_watch
from headgate.spark.gateway.session_bindings import HANDLE_KEY
from headgate.spark.sessions.privileges import RequiredName
from headgate.spark.sql.statements import DRIVER_LOST, NOT_CONNECTED, NOT_READY, STATEMENT_LOST
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.raw_client import Client

READ = RequiredName(action="table.select", object=("lake", "raw", "t"))
WHY = "ann: `table.select` on `lake.raw.t` is not allowed"
DENIED = grpc.StatusCode.PERMISSION_DENIED


@pytest.fixture
def backend() -> Iterator[FakeBackend]:
    with fake_backend() as running:
        running.held = True
        yield running


@pytest.fixture
def gateway(backend: FakeBackend) -> Iterator[RunningGateway]:
    with running_gateway(backend.driver, "ann", "bob") as running:
        yield running


class Statement:
    """A statement that has sent its first answer, and for which the guard has requested the read of a table."""

    def __init__(
        self, gateway: RunningGateway, backend: FakeBackend, user: str = "ann", *, reattachable: bool = False
    ) -> None:
        self.client = Client(gateway.port, user)
        self.operation = str(uuid.uuid4())
        self.handle = ""
        options = [{"reattach_options": {"reattachable": reattachable}}]
        self.answers = self.stream("ExecutePlan", request_options=options)
        next(self.answers)
        self.handle = handle(backend)
        gateway.spark.works.record(self.handle, self.operation, [READ])

    def stream(self, name: str, **fields: Any) -> Any:
        return self.client.begin(name, operation_id=self.operation, **fields)

    def fails(self) -> Any:
        with pytest.raises(grpc.RpcError) as raised:
            list(self.answers)
        return raised.value


def handle(backend: FakeBackend) -> str:
    return next(pair.value for pair in backend.last("Config").operation.set.pairs if pair.key == HANDLE_KEY)


def sqlstate(error: Any) -> str:
    status, info = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"]), ErrorInfo()
    status.details[0].Unpack(info)
    return info.metadata["sqlState"]


class TestAStatement:
    def test_a_statement_ends_with_the_reason_when_a_right_is_revoked(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend)
        gateway.report()

        gateway.spark.denied[READ] = WHY
        gateway.report()

        error = statement.fails()
        assert (error.code(), error.details(), sqlstate(error)) == (DENIED, WHY, "42501")
        assert backend.interrupted == {statement.operation}
        assert backend.last("Interrupt").user_context.user_id == "ann:token-t-ann"

    def test_a_statement_goes_on_while_its_rights_remain(self, gateway: RunningGateway, backend: FakeBackend) -> None:
        statement = Statement(gateway, backend)

        gateway.report()
        backend.go_on.set()

        assert len(list(statement.answers)) == 2
        assert not backend.interrupted

    def test_a_statement_ends_with_its_token(self, gateway: RunningGateway, backend: FakeBackend) -> None:
        statement = Statement(gateway, backend)

        del gateway.tokens.callers["ann"]
        gateway.report()

        assert statement.fails().details() == (
            "the token or login that started the operation is no longer valid; connect with a valid token, or log in again"
        )

    def test_a_statement_ends_with_its_session(self, gateway: RunningGateway, backend: FakeBackend) -> None:
        statement = Statement(gateway, backend)

        gateway.sessions.close(statement.handle)
        gateway.report()

        assert statement.fails().code() is DENIED

    def test_an_abandoned_statement_is_interrupted_and_refused_to_a_reattaching_client(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)
        statement.answers.cancel()

        gateway.spark.denied[READ] = WHY
        gateway.report()
        gateway.report()
        statement.answers = statement.stream("ReattachExecute")

        assert statement.fails().details() == WHY
        # The gateway repeats an interrupt until the driver confirms the end, so the number of interrupts depends on
        # timing.
        assert backend.interrupted == {statement.operation}

    def test_a_statement_ends_when_no_decision_arrives(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        statement = Statement(gateway, backend)
        monkeypatch.setattr(revocation_watch, "_UNHEARD", 0.0)
        gateway.forbid()

        assert "could not be decided" in statement.fails().details()


def test_a_stream_is_stopped_when_a_right_is_revoked(gateway: RunningGateway, backend: FakeBackend) -> None:
    backend.go_on.set()
    backend.streams = ["s-1", "s-2"]
    Client(gateway.port, "ann").version()
    gateway.spark.works.record(handle(backend), "stream:s-2", [READ])

    gateway.spark.denied[READ] = WHY
    gateway.report()
    gateway.report()

    stopped = [
        request.plan.command.streaming_query_command.query_id.id
        for name, request in backend.calls
        if name == "ExecutePlan" and request.plan.command.streaming_query_command.stop
    ]
    assert stopped == ["s-2"]
    assert len(gateway.spark.works) == 0


@pytest.mark.parametrize(
    "of_rows", [{"last_progress": True}, {"recent_progress": True}, {"explain": {"extended": True}}]
)
def test_the_progress_of_an_ended_stream_still_needs_the_right_to_read(
    gateway: RunningGateway, backend: FakeBackend, of_rows: dict[str, Any]
) -> None:
    backend.go_on.set()
    client = Client(gateway.port, "ann")
    client.version()
    gateway.spark.works.record(handle(backend), "stream:s-1", [READ])
    gateway.spark.works.finished(handle(backend), "stream:s-1")

    def ask(command: dict[str, Any]) -> None:
        query = {"query_id": {"id": "s-1", "run_id": "r-1"}, **command}
        list(client.begin("ExecutePlan", plan={"command": {"streaming_query_command": query}}))

    ask(of_rows)
    gateway.spark.denied[READ] = WHY
    with pytest.raises(grpc.RpcError) as raised:
        ask(of_rows)
    assert raised.value.code() == DENIED  # type: ignore[attr-defined]
    ask({"status": True})
    ask({"exception": True})


def test_a_statement_of_a_dead_driver_fails_with_a_sqlstate_and_the_next_one_runs(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    statement = Statement(gateway, backend)

    backend.die()
    error = statement.fails()
    driver, backend.driver.ready = backend.driver, False
    with fake_backend() as another:
        driver.address, driver.generation, driver.ready = another.driver.address, 2, True
        again = statement.client.call("ExecutePlan")

    assert (error.code(), error.details()) == (grpc.StatusCode.ABORTED, STATEMENT_LOST)
    assert sqlstate(error) == DRIVER_LOST
    assert len(again) == 3
    assert another.names() == ["ReleaseSession", "Config", "ExecutePlan"]


def test_a_statement_of_a_dead_driver_is_not_run_again_for_a_reattaching_client(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    statement = Statement(gateway, backend, reattachable=True)

    backend.die()
    first = statement.fails()
    driver = backend.driver
    with fake_backend() as another:
        driver.address, driver.generation = another.driver.address, 2
        statement.client.call("Config")
        attempts = [(statement.stream(name), name) for name in ("ReattachExecute", "ExecutePlan")]
        errors = [_error(answers) for answers, _ in attempts]

    assert [first.details(), *(each.details() for each in errors)] == [STATEMENT_LOST] * 3
    assert {each.code() for each in errors} == {grpc.StatusCode.ABORTED}
    assert "ExecutePlan" not in another.names()


def test_a_call_without_a_ready_driver_fails_with_a_sqlstate(gateway: RunningGateway, backend: FakeBackend) -> None:
    backend.driver.ready = False

    error: Any = Client(gateway.port, "ann").fails("ExecutePlan")

    assert (error.code(), error.details(), sqlstate(error)) == (grpc.StatusCode.UNAVAILABLE, NOT_READY, NOT_CONNECTED)


def _error(answers: Any) -> Any:
    with pytest.raises(grpc.RpcError) as raised:
        list(answers)
    return raised.value


class TestBounds:
    @pytest.mark.parametrize(
        ("bound", "user", "said"),
        [
            ("PER_PRINCIPAL", "ann", "you have 2 running operations"),
            ("PER_DRIVER", "bob", "you do not have to end operations of your own"),
        ],
    )
    def test_the_running_statements_of_one_user_and_of_a_driver_are_bounded(
        self,
        gateway: RunningGateway,
        backend: FakeBackend,
        monkeypatch: pytest.MonkeyPatch,
        bound: str,
        user: str,
        said: str,
    ) -> None:
        monkeypatch.setattr(operations, bound, 2)
        first, second = Statement(gateway, backend), Statement(gateway, backend)

        error: Any = Client(gateway.port, user).fails("ExecutePlan")

        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert said in error.details()
        backend.go_on.set()
        assert list(first.answers)
        assert list(second.answers)
        assert Client(gateway.port, user).call("ExecutePlan")

    def test_statements_of_one_user_that_are_too_large_together_are_refused(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "BYTES_PER_PRINCIPAL", 1)
        only = Statement(gateway, backend)

        error: Any = Client(gateway.port, "ann").fails("ExecutePlan")

        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "are together larger than" in error.details()
        backend.go_on.set()
        assert list(only.answers)
        assert Client(gateway.port, "ann").call("ExecutePlan")

    def test_the_results_of_a_slow_client_are_not_buffered(self, gateway: RunningGateway, backend: FakeBackend) -> None:
        backend.rows = 400
        statement = Statement(gateway, backend)
        backend.go_on.set()
        next(statement.answers)
        taken = _settled(backend)

        gateway.spark.denied[READ] = WHY
        gateway.report()

        assert taken < 100  # MiB, most of them in the flow-control windows of two connections
        assert statement.fails().code() is DENIED
        assert backend.sent < 200


def test_a_draining_gateway_finishes_running_statements_and_refuses_new_calls(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    statement = Statement(gateway, backend)
    ending = threading.Thread(target=gateway.drain)
    ending.start()

    while not _is_refused(gateway):
        pass
    backend.go_on.set()

    assert len(list(statement.answers)) == 2
    ending.join()


def _is_refused(gateway: RunningGateway) -> bool:
    """Return whether a call is refused, or gets no answer, as a call that arrives while the server stops."""
    try:
        Client(gateway.port, "ann", seconds=5).version()
    except grpc.RpcError:
        return True
    return False


def _settled(backend: FakeBackend) -> int:
    """Return the number of responses that the driver has sent, once it no longer changes."""
    still, before = threading.Event(), -1
    while before != backend.sent:
        before = backend.sent
        still.wait(0.5)
    return before
