"""A cached relation can be read by its id only in the session that created it."""

import uuid
from typing import Any

import grpc
import pytest

from headgate.spark.gateway import protos
from headgate.spark.gateway.cached_relations import SessionCheckpoints
from headgate.spark.gateway.errors import RequestRefusedError
from tests.spark.gateway.fake_backend import fake_backend
from tests.spark.gateway.gateway_harness import running_gateway
from tests.spark.gateway.raw_client import Client

base: Any = protos.base  # the type stubs do not accept nested messages written as dicts
OPERATION = "00000000-0000-0000-0000-00000000000a"
NOTHING: frozenset[str] = frozenset()


def code(error: Any) -> grpc.StatusCode:
    return error.code()


def checkpoint(operation_id: str = OPERATION) -> Any:
    command = {"checkpoint_command": {"relation": {"range": {"end": 1, "step": 1}}, "local": True}}
    return base.ExecutePlanRequest(operation_id=operation_id, plan={"command": command})


def removal(relation_id: str) -> Any:
    command = {"remove_cached_remote_relation_command": {"relation": {"relation_id": relation_id}}}
    return base.ExecutePlanRequest(plan={"command": command})


def query() -> Any:
    return base.ExecutePlanRequest(plan={"root": {"cached_remote_relation": {"relation_id": "r1"}}})


def answer(relation_id: str, operation_id: str = OPERATION) -> bytes:
    result = {"relation": {"relation_id": relation_id}}
    return base.ExecutePlanResponse(operation_id=operation_id, checkpoint_command_result=result).SerializeToString()


def test_a_checkpointed_relation_may_be_named_until_it_is_removed() -> None:
    checkpoints = SessionCheckpoints()

    assert checkpoints.admit(checkpoint(), NOTHING)
    checkpoints.note(base.ExecutePlanResponse(operation_id=OPERATION).SerializeToString())
    checkpoints.note(answer("r1"))
    assert not checkpoints.admit(query(), {"r1"})
    checkpoints.admit(removal("r1"), {"r1"})

    with pytest.raises(RequestRefusedError):
        checkpoints.admit(query(), {"r1"})


def test_a_relation_of_another_session_may_be_neither_named_nor_removed() -> None:
    checkpoints = SessionCheckpoints()
    checkpoints.admit(checkpoint(), NOTHING)
    checkpoints.note(answer("r1"))

    for request in (query(), removal("r2"), base.AnalyzePlanRequest()):
        with pytest.raises(RequestRefusedError, match="`r2` does not belong to the Spark session"):
            checkpoints.admit(request, {"r1", "r2"})


def test_the_checkpoint_may_be_returned_when_the_client_reattaches() -> None:
    checkpoints = SessionCheckpoints()
    again = base.ReattachExecuteRequest(operation_id=OPERATION)

    assert not checkpoints.admit(again, NOTHING)
    checkpoints.admit(checkpoint(), NOTHING)
    assert checkpoints.admit(again, NOTHING)
    checkpoints.admit(base.ReleaseExecuteRequest(operation_id=OPERATION, release_all={}), NOTHING)
    assert not checkpoints.admit(again, NOTHING)


def test_a_session_holds_a_bounded_number_of_checkpoints() -> None:
    checkpoints = SessionCheckpoints()
    for number in range(1000):
        checkpoints.admit(checkpoint(f"{number}"), NOTHING)

    with pytest.raises(RequestRefusedError, match="holds more than"):
        checkpoints.admit(checkpoint(), NOTHING)


def test_another_user_or_session_cannot_name_a_checkpoint() -> None:
    given = base.Plan(root={"cached_remote_relation": {"relation_id": f"of {OPERATION}"}})
    with fake_backend() as backend, running_gateway(backend.driver, "ann", "bob") as gateway:
        ann, bob = Client(gateway.port, "ann"), Client(gateway.port, "bob")
        ann.call("ExecutePlan", plan=checkpoint().plan, operation_id=OPERATION)

        assert ann.call("ExecutePlan", plan=given)
        for refused in (
            bob.fails("ExecutePlan", plan=given),
            bob.fails("ExecutePlan", ann.session_id, plan=given),
            ann.fails("ExecutePlan", str(uuid.uuid4()), plan=given),
        ):
            assert code(refused) is grpc.StatusCode.PERMISSION_DENIED
