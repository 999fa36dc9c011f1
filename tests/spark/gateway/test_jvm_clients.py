"""Refusals as Scala and Java clients get them: with the condition and the SQLSTATE in the message."""

from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.spark.gateway.errors import (
    STATUS_KEY,
    InvalidRequestError,
    RequestRefusedError,
    TooComplexError,
    status_details,
)
from headgate.spark.gateway.jvm_clients import is_jvm_client, name_state
from headgate.spark.gateway.protos import base
from tests.spark.gateway.gateway_harness import RunningGateway
from tests.spark.gateway.hostile_client import RawClient, bearer

REFUSAL = "`Parse` is not allowed; use a table"
JAVA, PYTHON = "grpc-java-netty/1.76.0", "grpc-python/1.76.0 grpc-c/51.0.0 (linux; chttp2)"


def info_of(rich: bytes) -> ErrorInfo:
    info = ErrorInfo()
    for detail in Status.FromString(rich).details:
        detail.Unpack(info)
    return info


def of_condition(state: str, condition: str, **more: str) -> bytes:
    detail = Packed()
    detail.Pack(ErrorInfo(metadata={"sqlState": state, "errorClass": condition, **more}))
    return Status(code=7, message=REFUSAL, details=[detail]).SerializeToString()


class TestUserAgents:
    @pytest.mark.parametrize("metadata", [(("user-agent", JAVA),), (("a", b"\xff"), ("user-agent", f"mine {JAVA}"))])
    def test_a_java_client_is_recognized_by_its_user_agent(self, metadata: tuple[tuple[str, str | bytes], ...]) -> None:
        assert is_jvm_client(metadata)

    @pytest.mark.parametrize(
        "metadata", [(), (("user-agent", PYTHON),), (("x-user-agent", JAVA), ("user-agent-bin", b"grpc-java"))]
    )
    def test_another_client_is_no_java_client(self, metadata: tuple[tuple[str, str | bytes], ...]) -> None:
        assert not is_jvm_client(metadata)


class TestMessages:
    def test_a_refusal_names_its_condition_and_sqlstate(self) -> None:
        rich = status_details(RequestRefusedError(REFUSAL))

        message, trailers = name_state(REFUSAL, ((STATUS_KEY, rich),))

        assert message == f"[HEADGATE_ACCESS_DENIED] {REFUSAL} SQLSTATE: 42501"
        [(key, sent)] = trailers
        assert (key, Status.FromString(sent).message) == (STATUS_KEY, message)
        assert Status.FromString(sent).code == grpc.StatusCode.PERMISSION_DENIED.value[0]

    def test_a_refusal_has_a_class_for_which_the_client_needs_no_list_of_conditions(self) -> None:
        _, [(_, sent)] = name_state(REFUSAL, ((STATUS_KEY, status_details(RequestRefusedError(REFUSAL))),))

        assert dict(info_of(sent).metadata) == {
            "classes": '["org.apache.spark.SparkException"]',
            "errorClass": "HEADGATE_ACCESS_DENIED",
            "sqlState": "42501",
        }

    def test_a_limit_of_the_gateway_names_its_sqlstate_and_has_no_condition(self) -> None:
        message, [(_, sent)] = name_state("too deep", ((STATUS_KEY, status_details(TooComplexError("too deep"))),))

        assert message == "too deep SQLSTATE: 54001"
        assert dict(info_of(sent).metadata) == {
            "classes": '["org.apache.spark.sql.AnalysisException"]',
            "sqlState": "54001",
        }

    def test_a_limit_of_the_guard_names_its_condition_and_sqlstate(self) -> None:
        message, [(_, sent)] = name_state("too large", ((STATUS_KEY, of_condition("54000", "HEADGATE_LIMIT")),))

        assert message == "[HEADGATE_LIMIT] too large SQLSTATE: 54000"
        assert info_of(sent).metadata["classes"] == '["org.apache.spark.SparkException"]'

    def test_a_refusal_keeps_no_other_detail_of_the_driver(self) -> None:
        rich = of_condition("42501", "HEADGATE_ACCESS_DENIED", errorId="1", stackTrace="at x.Y")

        _, [(_, sent)] = name_state(REFUSAL, ((STATUS_KEY, rich),))

        assert b"x.Y" not in sent
        assert b"errorId" not in sent

    @pytest.mark.parametrize(
        "trailers",
        [
            (),
            ((STATUS_KEY, b""),),
            ((STATUS_KEY, b"\xff\xff"),),
            ((STATUS_KEY, Status(code=7, message="SQLSTATE: 42501").SerializeToString()),),
            ((STATUS_KEY, of_condition("42P01", "TABLE_OR_VIEW_NOT_FOUND")),),
            ((STATUS_KEY, of_condition("42501", "NOT_OF_HEADGATE")),),
            ((STATUS_KEY, of_condition("", "HEADGATE_LIMIT")),),
            ((STATUS_KEY, status_details(InvalidRequestError("no message"))),),
        ],
    )
    def test_any_other_error_stays_as_it_is(self, trailers: tuple[tuple[str, bytes], ...]) -> None:
        assert name_state("words", trailers) == ("words", trailers)


@pytest.mark.parametrize(("agent", "is_named"), [(JAVA, True), (PYTHON, False)])
def test_the_gateway_names_the_state_to_java_clients_only(
    gateway: RunningGateway, agent: str, *, is_named: bool
) -> None:
    request: Any = base.ExecutePlanRequest(session_id="00000000-0000-0000-0000-000000000001")
    request.plan.root.parse.format = 1
    client = RawClient(f"127.0.0.1:{gateway.port}", bearer("ann"), agent=agent)

    answer = client.send("ExecutePlan", [request.SerializeToString()])

    client.close()
    assert answer.code is grpc.StatusCode.PERMISSION_DENIED
    assert answer.sqlstate == "42501"
    assert answer.text.endswith(" SQLSTATE: 42501") is is_named
    assert answer.text.startswith("[HEADGATE_ACCESS_DENIED] ") is is_named
