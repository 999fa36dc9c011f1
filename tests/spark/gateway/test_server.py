"""The gateway between arbitrary clients and a driver that records the calls that reach it."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.rpc.status_pb2 import Status

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, RunId, TokenId
from headgate.spark.gateway import protos
from headgate.spark.gateway.artifact_names import CACHE_PREFIX, ROWS_KIND, driver_hash
from headgate.spark.gateway.call_identity import SessionKey, user_id
from headgate.spark.gateway.rpcs import SERVICE
from headgate.spark.gateway.session_bindings import HANDLE_KEY, PRINCIPAL_KEY
from headgate.spark.sessions.signature import sign_session
from tests import arrow_streams
from tests.spark.gateway.fake_backend import ANSWERS, FakeBackend, FakeDriver, fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.raw_client import Client

DENIED, UNKNOWN_TOKEN = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED
ANN = "ann:token-t-ann"
base: Any = protos.base  # the type stubs do not accept nested messages written as dicts


@pytest.fixture
def backend() -> Iterator[FakeBackend]:
    with fake_backend() as running:
        yield running


@pytest.fixture
def gateway(backend: FakeBackend) -> Iterator[RunningGateway]:
    with running_gateway(backend.driver, "ann", "bob") as running:
        yield running


@pytest.fixture
def ann(gateway: RunningGateway) -> Iterator[Client]:
    client = Client(gateway.port, "ann")
    yield client
    client.channel.close()


@pytest.fixture
def bob(gateway: RunningGateway) -> Iterator[Client]:
    client = Client(gateway.port, "bob")
    yield client
    client.channel.close()


def code(error: Any) -> grpc.StatusCode:
    return error.code()


def handle_of(backend: FakeBackend) -> str:
    pairs = {pair.key: pair.value for pair in backend.last("Config").operation.set.pairs}
    assert pairs[PRINCIPAL_KEY] == sign_session(backend.driver.key, pairs[HANDLE_KEY])
    return pairs[HANDLE_KEY]


class TestAuthentication:
    def test_a_login_of_several_organizations_has_to_name_one(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        client = Client(gateway.port, "several")

        for name in ANSWERS:
            error = client.fails(name)
            assert (code(error), "x-headgate-organization" in str(error.details())) == (
                grpc.StatusCode.INVALID_ARGUMENT,
                True,
            )
        assert backend.names() == []

    def test_a_member_of_a_suspended_organization_is_refused_with_this_reason(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        client = Client(gateway.port, "suspended")

        for name in ANSWERS:
            error = client.fails(name)
            assert (code(error), "is suspended" in str(error.details())) == (grpc.StatusCode.PERMISSION_DENIED, True)
        assert backend.names() == []

    @pytest.mark.parametrize("token", [None, "", "nobody", "ann bob"])
    def test_a_caller_without_a_valid_token_is_refused(
        self, gateway: RunningGateway, backend: FakeBackend, token: str | None
    ) -> None:
        client = Client(gateway.port, token)

        for name in ANSWERS:
            assert code(client.fails(name)) is UNKNOWN_TOKEN
        assert not backend.calls

    def test_a_revoked_token_is_refused_at_once(self, gateway: RunningGateway, ann: Client) -> None:
        ann.version()

        del gateway.tokens.callers["ann"]

        assert code(ann.fails("ReleaseExecute", operation_id=str(uuid.uuid4()))) is UNKNOWN_TOKEN
        assert code(ann.fails("ExecutePlan")) is UNKNOWN_TOKEN

    def test_a_call_with_two_tokens_is_refused(self, gateway: RunningGateway) -> None:
        client = Client(gateway.port, "ann")
        client.metadata = (("authorization", "Bearer ann"), ("authorization", "Bearer bob"))

        assert code(client.fails("Config")) is UNKNOWN_TOKEN

    def test_the_driver_receives_its_own_token_and_no_metadata_of_the_client(
        self, ann: Client, backend: FakeBackend
    ) -> None:
        ann.version()

        for metadata in backend.metadata:
            assert metadata["authorization"] == "Bearer backend-token"
            assert "x-user" not in metadata


class TestIdentity:
    def test_the_client_does_not_choose_its_name(self, bob: Client, backend: FakeBackend) -> None:
        bob.call("ExecutePlan", user_context={"user_id": "ann:token-t-ann", "user_name": "ann"})

        for _, request in backend.calls:
            assert request.user_context.user_id == "bob:token-t-bob"
        assert backend.last("ExecutePlan").user_context.user_name == "bob"

    def test_a_session_id_of_another_user_names_another_session(
        self, ann: Client, bob: Client, backend: FakeBackend
    ) -> None:
        ann.version()
        anns = handle_of(backend)

        bob.call("AnalyzePlan", ann.session_id, spark_version={})

        assert handle_of(backend) != anns
        assert backend.last("AnalyzePlan").user_context.user_id == "bob:token-t-bob"

    @pytest.mark.parametrize("name", ["ReattachExecute", "ReleaseExecute", "FetchErrorDetails", "Interrupt"])
    def test_operations_and_errors_are_looked_up_under_the_name_of_the_caller(
        self, bob: Client, backend: FakeBackend, name: str
    ) -> None:
        operation = str(uuid.uuid4())
        options = [{"reattach_options": {"reattachable": True}}]
        bob.call("ExecutePlan", operation_id=operation, request_options=options)
        named = {} if name == "FetchErrorDetails" else {"operation_id": operation}

        bob.call(name, user_context={"user_id": ANN}, **named)

        assert backend.last(name).user_context.user_id == "bob:token-t-bob"

    @pytest.mark.parametrize("session_id", ["x", "ABCDEF00-0000-0000-0000-000000000001", "{" + "0" * 32 + "}"])
    def test_a_session_id_that_is_no_plain_uuid_is_refused(
        self, ann: Client, backend: FakeBackend, session_id: str
    ) -> None:
        assert code(ann.fails("ExecutePlan", session_id)) is grpc.StatusCode.INVALID_ARGUMENT
        assert not backend.calls

    def test_a_user_context_with_extensions_is_refused(self, ann: Client) -> None:
        error = ann.fails("ExecutePlan", user_context={"extensions": [{"type_url": "type.googleapis.com/x.Y"}]})

        assert code(error) is DENIED

    def test_two_tokens_and_runs_of_one_principal_share_no_session(self) -> None:
        principal = PrincipalId("p")
        callers = [
            Caller(principal),
            Caller(principal, TokenId("1")),
            Caller(principal, TokenId("2")),
            Caller(principal, run=RunId("1")),
        ]

        assert len({user_id(caller) for caller in callers}) == len(callers)

    def test_each_principal_has_one_pool_of_cores_and_one_for_its_runs(self) -> None:
        ann = [Caller(PrincipalId("ann"), TokenId("one")), Caller(PrincipalId("ann"), TokenId("two"))]
        runs = [Caller(PrincipalId("ann"), run=RunId("r")), Caller(PrincipalId("ann"), run=RunId("s"))]

        assert [{SessionKey(user_id(each), "").pool for each in of} for of in (ann, runs)] == [{"ann"}, {"ann:runs"}]


class TestSessions:
    def test_a_session_is_signed_before_its_first_call_arrives(
        self, ann: Client, backend: FakeBackend, gateway: RunningGateway
    ) -> None:
        ann.version()
        ann.version()

        assert backend.names() == ["ReleaseSession", "Config", "AnalyzePlan", "AnalyzePlan"]
        assert gateway.sessions.caller(handle_of(backend)) == gateway.tokens.callers["ann"]

    def test_concurrent_first_calls_wait_for_the_signature_of_the_session(
        self, ann: Client, backend: FakeBackend
    ) -> None:
        together = threading.Barrier(8)

        def version(_: int) -> None:
            together.wait()
            ann.version()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(version, range(8)))

        assert backend.names() == ["ReleaseSession", "Config"] + ["AnalyzePlan"] * 8

    def test_a_released_session_is_forgotten(self, ann: Client, backend: FakeBackend, gateway: RunningGateway) -> None:
        ann.version()
        first = handle_of(backend)

        ann.call("ReleaseSession")

        assert gateway.sessions.caller(first) is None
        ann.version()
        assert handle_of(backend) != first

    def test_a_session_with_a_closed_handle_is_created_anew(
        self, ann: Client, backend: FakeBackend, gateway: RunningGateway
    ) -> None:
        ann.version()
        first = handle_of(backend)
        gateway.sessions.close_where(lambda caller: caller.principal == "ann")
        gateway.report()

        ann.version()

        assert handle_of(backend) != first
        assert backend.names()[-3:] == ["ReleaseSession", "Config", "AnalyzePlan"]

    def test_a_session_that_cannot_be_signed_is_not_used(
        self, ann: Client, backend: FakeBackend, gateway: RunningGateway
    ) -> None:
        backend.fail = "Config"

        ann.fails("ExecutePlan")

        assert "ExecutePlan" not in backend.names()
        assert len(gateway.sessions) == 0

    def test_a_clone_has_a_signature_of_its_own(self, ann: Client, backend: FakeBackend) -> None:
        ann.version()
        first = handle_of(backend)

        ann.call("CloneSession")

        clone = backend.last("CloneSession").new_session_id
        assert backend.names()[-2:] == ["CloneSession", "Config"]
        assert backend.last("Config").session_id == clone
        assert handle_of(backend) != first
        assert code(ann.fails("CloneSession", new_session_id=clone)) is DENIED


class TestDriver:
    def test_a_driver_that_is_not_ready_is_reported_as_unavailable(self, ann: Client, backend: FakeBackend) -> None:
        backend.driver.ready = False

        error: Any = ann.fails("ExecutePlan")

        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert error.details() == "Spark is starting; try again in a few seconds"

    def test_a_driver_that_is_gone_is_reported_as_unavailable_without_its_address(self) -> None:
        with running_gateway(FakeDriver(address="127.0.0.1:1"), "ann") as gateway:
            error: Any = Client(gateway.port, "ann").fails("ExecutePlan")

        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert error.details() == "Spark is starting; try again in a few seconds"

    def test_a_restart_of_the_driver_begins_every_session_anew(
        self, ann: Client, backend: FakeBackend, gateway: RunningGateway
    ) -> None:
        ann.version()
        first = handle_of(backend)
        backend.driver.generation, backend.driver.key = 2, b"n" * 32

        ann.version()

        assert handle_of(backend) != first
        assert gateway.sessions.caller(first) is None

    def test_errors_of_spark_arrive_unchanged(self, ann: Client, backend: FakeBackend) -> None:
        backend.fail = "ExecutePlan"

        error: Any = ann.fails("ExecutePlan")

        trailers = dict(error.trailing_metadata())
        assert error.code() is grpc.StatusCode.INTERNAL
        assert error.details() == "[SOME_CLASS] it broke"
        assert Status.FromString(trailers["grpc-status-details-bin"]).details
        assert "internal" not in trailers

    def test_a_driver_that_refuses_the_gateway_is_reported_as_unavailable(
        self, ann: Client, backend: FakeBackend
    ) -> None:
        backend.fail = "AnalyzePlan"
        backend.fail_with = (grpc.StatusCode.UNAUTHENTICATED, "invalid token backend-token")

        error: Any = ann.fails("AnalyzePlan", spark_version={})

        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "backend-token" not in error.details()


class TestCalls:
    def test_answers_are_streamed_to_the_client(self, ann: Client) -> None:
        assert [answer.response_id for answer in ann.call("ExecutePlan")] == ["0", "1", "2"]

    def test_a_schema_and_metrics_arrive_with_the_result_after_them(self, ann: Client, backend: FakeBackend) -> None:
        backend.details = True

        answers = list(ann.call("ExecutePlan"))

        assert [answer.response_id for answer in answers] == ["0", "1", "2", "4", "7", "8"]
        _, _, _, rows, end, last = answers
        assert rows.HasField("schema")
        assert rows.arrow_batch.data == b"x"
        assert end.HasField("metrics")
        assert end.HasField("result_complete")
        assert end.observed_metrics[0].name == "n"
        assert last.HasField("schema")

    def test_an_unknown_call_is_refused(self, ann: Client, backend: FakeBackend) -> None:
        method = ann.channel.unary_unary(SERVICE + "GetStatus")

        with pytest.raises(grpc.RpcError) as raised:
            method(b"", metadata=ann.metadata)

        assert code(raised.value) is DENIED
        assert not backend.calls

    def test_a_refusal_says_why_in_one_sentence(self, ann: Client, backend: FakeBackend) -> None:
        error: Any = ann.fails("Config", operation={"get": {"keys": ["spark.executor.memory"]}})

        status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
        assert error.code() is DENIED
        assert error.details() == (
            "the configuration key `spark.executor.memory` cannot be read by users; ask the operator for its value"
        )
        assert status.message == error.details()
        assert "Config" not in backend.names()

    def test_an_upload_is_checked_message_by_message(self, ann: Client, backend: FakeBackend) -> None:
        sent = arrow_streams.rows()

        def part(name: str, session_id: str = ann.session_id) -> bytes:
            batch = {"artifacts": [{"name": name, "data": arrow_streams.chunk(sent)}]}
            return base.AddArtifactsRequest(session_id=session_id, batch=batch).SerializeToString()

        def upload(*parts: bytes) -> Any:
            return ann.channel.stream_unary(SERVICE + "AddArtifacts")(iter(parts), metadata=ann.metadata)

        rows = arrow_streams.artifact_name(sent)
        upload(part(rows), part(rows))
        with pytest.raises(grpc.RpcError) as refused:
            upload(part(rows), part("jars/a.jar"))
        with pytest.raises(grpc.RpcError) as mixed:
            upload(part(rows), part(rows, str(uuid.uuid4())))

        assert code(refused.value) is DENIED
        assert code(mixed.value) is grpc.StatusCode.INVALID_ARGUMENT
        for name, request in backend.calls:
            if name == "AddArtifacts":
                assert request.user_context.user_id == ANN
                assert request.batch.artifacts[0].name == CACHE_PREFIX + driver_hash(
                    ROWS_KIND, rows.removeprefix(CACHE_PREFIX)
                )
