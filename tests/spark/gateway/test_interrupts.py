"""The gateway tracks an operation until its driver has confirmed the end, even if the client has left."""

import asyncio
import time
import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from typing_extensions import override

from headgate.facts.ids import PrincipalId
from headgate.spark.gateway import call_slots, operations, revocation_watch
from headgate.spark.gateway.call_identity import SessionKey
from headgate.spark.gateway.driver_channel import DriverBackend
from headgate.spark.gateway.interrupts import Interrupts
from tests.spark.gateway.fake_backend import SERVER_SIDE, FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.raw_client import Client
from tests.spark.gateway.test_revocation_watch_cuts import READ, WHY, Statement
from tests.threads import wait_until

EXHAUSTED, UNKNOWN_TOKEN = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED
REATTACHABLE = [{"reattach_options": {"reattachable": True}}]


@pytest.fixture
def backend() -> Iterator[FakeBackend]:
    with fake_backend() as running:
        running.held = True
        yield running


@pytest.fixture
def gateway(backend: FakeBackend) -> Iterator[RunningGateway]:
    with running_gateway(backend.driver, "ann", "bob") as running:
        yield running


def release_until(statement: Statement) -> Any:
    """Release the first response of a statement, and return the answer."""
    return statement.client.call("ReleaseExecute", operation_id=statement.operation, release_until={"response_id": "0"})


def tracked(gateway: RunningGateway) -> int:
    """Return the number of operations that the gateway counts as running."""
    return len(gateway.gateway._operations.list_running())  # pyright: ignore[reportPrivateUsage]


class TestAnOrphan:
    def test_an_orphan_is_interrupted_and_tracked_until_the_driver_has_ended_it(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend)

        statement.answers.cancel()

        wait_until(lambda: not backend.running)
        wait_until(lambda: tracked(gateway) == 0)
        assert backend.interrupted == {statement.operation}

    def test_an_orphan_is_interrupted_again_while_the_driver_has_not_ended_it(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.deaf_to = 2
        statement = Statement(gateway, backend)

        statement.answers.cancel()

        wait_until(lambda: backend.names().count("Interrupt") == 2)
        assert tracked(gateway) == 1
        wait_until(lambda: tracked(gateway) == 0)
        assert backend.names().count("Interrupt") == 3

    def test_an_orphan_counts_against_the_limit_of_its_principal_while_it_runs(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "PER_PRINCIPAL", 1)
        backend.deaf_to = 1000
        statement = Statement(gateway, backend)

        statement.answers.cancel()
        wait_until(lambda: "Interrupt" in backend.names())
        error: Any = Client(gateway.port, "ann").fails("ExecutePlan")

        assert error.code() is EXHAUSTED
        assert next(Client(gateway.port, "bob").begin("ExecutePlan"))
        backend.deaf_to = 0
        wait_until(lambda: tracked(gateway) == 1)

    def test_an_orphan_is_reported_as_running_and_ends_with_its_token(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)
        statement.answers.cancel()
        gateway.report()
        assert backend.running == {statement.operation}

        del gateway.tokens.callers["ann"]
        gateway.report()

        wait_until(lambda: not backend.running)
        wait_until(lambda: tracked(gateway) == 0)

    def test_a_reattachable_orphan_is_ended_when_no_client_reattaches(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "DETACHED_SECONDS", 0.2)
        statement = Statement(gateway, backend, reattachable=True)

        statement.answers.cancel()
        wait_until(lambda: not _is_attached(gateway))
        time.sleep(0.3)
        gateway.report()

        wait_until(lambda: not backend.running)
        wait_until(lambda: tracked(gateway) == 0)
        assert "ReleaseExecute" in backend.names()

    def test_an_orphan_of_a_replaced_driver_is_no_longer_tracked(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend)
        backend.die()
        statement.fails()

        with fake_backend() as another:
            backend.driver.address, backend.driver.generation = another.driver.address, 2
            Client(gateway.port, "ann").version()

            wait_until(lambda: tracked(gateway) == 0)


class TestAPlanThatIsOvertaken:
    """The driver registers a plan of many megabytes after it has received calls that were sent later."""

    @pytest.fixture(autouse=True)
    def _plans_wait(self, backend: FakeBackend) -> None:
        backend.plans_wait = True

    @pytest.mark.parametrize("leaves", [False, True], ids=["with its client", "without its client"])
    @pytest.mark.parametrize("reattachable", [False, True], ids=["plain", "reattachable"])
    def test_a_plan_that_its_release_overtakes_is_tracked_and_interrupted(
        self, gateway: RunningGateway, backend: FakeBackend, *, reattachable: bool, leaves: bool
    ) -> None:
        late = Late(gateway, backend, reattachable=reattachable)

        for _ in range(5):
            late.client.call("ReleaseExecute", operation_id=late.operation, release_all={})
        if leaves:
            late.answers.cancel()
        wait_until(lambda: backend.names().count("Interrupt") > 1)

        assert tracked(gateway) == 1
        backend.arrive.set()
        wait_until(lambda: backend.interrupted == {late.operation})
        wait_until(lambda: tracked(gateway) == 0)

    def test_a_plan_that_the_release_of_its_session_overtakes_is_tracked_and_interrupted(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        late = Late(gateway, backend, reattachable=True)

        late.client.call("ReleaseSession", allow_reconnect=True)
        late.client.version()
        wait_until(lambda: "Interrupt" in backend.names())

        assert tracked(gateway) == 1
        backend.arrive.set()
        wait_until(lambda: backend.interrupted == {late.operation})
        wait_until(lambda: tracked(gateway) == 0)

    def test_a_plan_that_never_arrives_is_tracked_for_a_limited_time(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "ARRIVAL_SECONDS", 2.0)
        late = Late(gateway, backend, reattachable=True)
        late.answers.cancel()
        late.client.call("ReleaseExecute", operation_id=late.operation, release_all={})

        wait_until(lambda: backend.names().count("Interrupt") > 1)
        assert tracked(gateway) == 1
        wait_until(lambda: tracked(gateway) == 0)


class TestARelease:
    def test_a_release_that_the_driver_confirms_ends_the_operation(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)

        statement.client.call("ReleaseExecute", operation_id=statement.operation, release_all={})

        assert tracked(gateway) == 0
        assert "Interrupt" not in backend.names()

    def test_a_release_of_a_part_of_the_results_does_not_end_the_operation(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)

        answer = release_until(statement)

        assert (answer.operation_id, answer.server_side_session_id) == (statement.operation, SERVER_SIDE)
        assert tracked(gateway) == 1
        assert "Interrupt" not in backend.names()

    def test_the_driver_receives_no_release_of_few_bytes(self, gateway: RunningGateway, backend: FakeBackend) -> None:
        statement = Statement(gateway, backend, reattachable=True)

        release_until(statement)

        assert "ReleaseExecute" not in backend.names()

    def test_the_driver_receives_the_release_of_many_bytes_once(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.held, backend.rows = False, 1
        operation = str(uuid.uuid4())
        client = Client(gateway.port, "ann")
        client.call("ExecutePlan", operation_id=operation, request_options=REATTACHABLE)

        for _ in range(3):
            client.call("ReleaseExecute", operation_id=operation, release_until={"response_id": "1"})

        assert backend.names().count("ReleaseExecute") == 1

    def test_a_release_with_a_revoked_token_ends_only_operations_of_that_token(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        anns, bobs = (
            Statement(gateway, backend, reattachable=True),
            Statement(gateway, backend, "bob", reattachable=True),
        )

        del gateway.tokens.callers["bob"]
        error: Any = bobs.client.fails("ReleaseExecute", operation_id=anns.operation, release_all={})
        bobs.client.call("ReleaseExecute", operation_id=bobs.operation, release_all={})

        assert error.code() is UNKNOWN_TOKEN
        assert backend.interrupted == {bobs.operation}

    def test_a_release_with_a_revoked_token_is_refused_once_its_operations_are_cancelled(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.deaf_to = 1000
        statement = Statement(gateway, backend, reattachable=True)
        gateway.spark.denied[READ] = WHY
        gateway.report()

        del gateway.tokens.callers["ann"]
        error: Any = statement.client.fails("ReleaseExecute", operation_id=statement.operation, release_all={})

        assert tracked(gateway) == 1
        assert error.code() is UNKNOWN_TOKEN


def test_the_answers_of_an_ended_operation_are_read_to_their_end() -> None:
    async def attempt() -> tuple[bool, int]:
        known = operations.Operations()
        interrupts = Interrupts(known)
        operation = operations.Operation(SessionKey("ann", "s"), "o", "h", PrincipalId("ann"), Deaf("main"), stays=True)
        known.begin(operation)
        known.end(operation)
        has_drained = asyncio.Event()

        async def drain() -> bool:
            await asyncio.sleep(0.01)
            has_drained.set()
            return True

        await asyncio.wait_for(interrupts.end(operation, drain()) or asyncio.sleep(0), 5)
        return has_drained.is_set(), len(interrupts._drains)  # pyright: ignore[reportPrivateUsage]

    assert asyncio.run(attempt()) == (True, 0)


class Deaf(DriverBackend):
    """A driver that finds nothing to interrupt or to release."""

    def __init__(self, name: str) -> None:
        self.name, self.closed = name, False

    @override
    async def interrupt(self, key: SessionKey, operation: str) -> bool:
        return False

    @override
    async def release(self, key: SessionKey, operation: str) -> bool:
        return False


class Late:
    """A statement of ann's whose plan the driver has not registered yet."""

    def __init__(self, gateway: RunningGateway, backend: FakeBackend, *, reattachable: bool) -> None:
        self.client = Client(gateway.port, "ann")
        self.operation = str(uuid.uuid4())
        options = [{"reattach_options": {"reattachable": reattachable}}]
        self.answers = self.client.begin("ExecutePlan", operation_id=self.operation, request_options=options)
        wait_until(lambda: self.operation in backend.in_transit)


def test_a_second_statement_with_the_id_of_a_running_one_is_refused(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    statement = Statement(gateway, backend)

    with pytest.raises(grpc.RpcError, match="OPERATION_ALREADY_EXISTS"):
        list(statement.stream("ExecutePlan"))

    assert tracked(gateway) == 1
    assert backend.names().count("ExecutePlan") == 1


def test_a_statement_with_the_id_of_a_statement_of_another_user_is_refused(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    statement = Statement(gateway, backend)
    gateway.spark.denied[READ] = WHY
    gateway.report()
    assert statement.fails().details() == WHY

    with pytest.raises(grpc.RpcError, match="OPERATION_ALREADY_EXISTS"):
        list(Client(gateway.port, "bob").begin("ExecutePlan", operation_id=statement.operation))

    assert backend.names().count("ExecutePlan") == 1


class TestResultsOfAnOperationAfterARevoke:
    @pytest.mark.parametrize("state", ["unread", "half read", "finished"])
    def test_results_are_refused_at_once_after_a_revoke(
        self, gateway: RunningGateway, backend: FakeBackend, state: str
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)
        if state == "finished":
            backend.go_on.set()
            assert len(list(statement.answers)) == 2
        statement.answers.cancel()
        reattached = backend.names().count("ReattachExecute")

        gateway.spark.denied[READ] = WHY
        statement.answers = statement.stream("ReattachExecute")

        assert statement.fails().details() == WHY
        assert backend.names().count("ReattachExecute") == reattached

    def test_results_are_returned_while_no_right_was_revoked(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)
        statement.answers.cancel()
        backend.go_on.set()

        assert len(list(statement.stream("ReattachExecute"))) == 3

    def test_results_are_refused_while_no_decision_can_be_made(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        statement = Statement(gateway, backend, reattachable=True)
        statement.answers.cancel()

        gateway.forbid()
        statement.answers = statement.stream("ReattachExecute")

        assert "cannot be decided" in statement.fails().details()

    def test_results_of_an_unknown_operation_are_not_requested_from_the_driver(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        client = Client(gateway.port, "ann")
        client.version()

        error: Any = client.fails("ReattachExecute", operation_id="00112233-4455-6677-8899-aabbccddeeff")

        assert "INVALID_HANDLE.OPERATION_NOT_FOUND" in error.details()
        assert "ReattachExecute" not in backend.names()


class TestAnAnalysis:
    def test_an_analysis_is_tracked_until_the_driver_answers(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.held_analyses = True
        analysis = _analyse(gateway, "ann")
        wait_until(lambda: "AnalyzePlan" in backend.names())

        analysis.cancel()
        gateway.report()

        assert tracked(gateway) == 1
        backend.go_on.set()
        wait_until(lambda: tracked(gateway) == 0)

    def test_an_abandoned_analysis_takes_a_slot_of_its_principal_only(
        self, gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gateway.gateway._calls.analyses._seconds = 0.2  # pyright: ignore[reportPrivateUsage]
        backend.held_analyses = True
        waiting = [_analyse(gateway, "ann") for _ in range(64)]
        wait_until(lambda: backend.names().count("AnalyzePlan") == call_slots.ANALYSES_PER_PRINCIPAL)
        for each in waiting:
            each.cancel()

        error: Any = Client(gateway.port, "ann").fails("AnalyzePlan", spark_version={})
        other = _analyse(gateway, "bob")
        wait_until(lambda: backend.names().count("AnalyzePlan") == call_slots.ANALYSES_PER_PRINCIPAL + 1)

        assert error.code() is EXHAUSTED
        assert "wait for one of them to end" in error.details()
        backend.go_on.set()
        assert other.result()
        assert Client(gateway.port, "ann").version()

    def test_an_analysis_returns_no_answer_after_its_token_was_revoked(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.held_analyses = True
        analysis = _analyse(gateway, "ann")
        wait_until(lambda: "AnalyzePlan" in backend.names())

        del gateway.tokens.callers["ann"]
        gateway.report()

        assert analysis.exception().code() is grpc.StatusCode.PERMISSION_DENIED


def test_results_and_new_calls_stop_when_the_tasks_of_the_watch_have_ended(
    gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = Statement(gateway, backend)
    for task in gateway.gateway.watch._tasks:  # pyright: ignore[reportPrivateUsage]
        gateway.run(task.stop())
    monkeypatch.setattr(revocation_watch, "_UNHEARD", 0.0)

    backend.go_on.set()

    assert "could not be decided" in statement.fails().details()
    error: Any = Client(gateway.port, "ann").fails("AnalyzePlan", spark_version={})
    assert error.code() is grpc.StatusCode.UNAVAILABLE


def _analyse(gateway: RunningGateway, name: str) -> Any:
    client = Client(gateway.port, name)
    rpc, request = "/spark.connect.SparkConnectService/AnalyzePlan", client.request("AnalyzePlan", spark_version={})
    return client.channel.unary_unary(rpc).future(request, metadata=client.metadata)


def _is_attached(gateway: RunningGateway) -> bool:
    return any(each.calls for each in gateway.gateway._operations.list_running())  # pyright: ignore[reportPrivateUsage]
