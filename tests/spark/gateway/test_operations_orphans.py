"""Orphaned operations of a client on a real Spark do not block other users."""

import os
import time
import uuid
from typing import Any

import grpc
import pytest

from headgate.spark.gateway.operations import Operation
from headgate.spark.gateway.protos import base
from tests.spark.gateway.guarded_gateway import LONERS, Guarded
from tests.spark.gateway.raw_client import Client
from tests.threads import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
ATTACKER, VICTIM, ENDING = LONERS
CROSS_JOIN = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id + b.id = -1"
COUNT = "SELECT count(*) FROM lake.raw.flights"
_SUM = "aggregate(sequence(1, 1000000), 0L, (b, y) -> b + y)"
MANY = {
    "large constants": (f"SELECT aggregate(sequence(1, 1000000), 0L, (a, x) -> a + {_SUM})", 60),
    "large texts": (f"SELECT length('{'x' * 12_000_000}') FROM range(9)", 30),
    "deep expressions": (f"SELECT {'abs(' * 500}id{')' * 500} FROM range(9)", 60),
}
"""Statements that use the driver's own time or memory, each with the number of copies that are sent at once."""
WITHIN = 45.0
"""Seconds within which another user's statement is answered, on a busy machine.

The attacker's statements together take minutes.
"""


def running(gateway: Guarded, person: str) -> list[Operation]:
    """Return the operations of a person that the gateway tracks."""
    every = gateway.gateway.gateway._operations.list_running()  # pyright: ignore[reportPrivateUsage]
    return [each for each in every if each.principal == person]


def require_none_left(gateway: Guarded, person: str, seconds: float = 30.0) -> None:
    """Wait until no operation of a person is tracked."""
    wait_until(lambda: not running(gateway, person), seconds)


def plan(text: str) -> Any:
    """Return the plan of a statement."""
    found = base.Plan()
    found.root.sql.query = text
    return found


def begin(gateway: Guarded, person: str, text: str, *, reattachable: bool = False) -> tuple[Client, str, Any]:
    """Send a statement; return its client, its id and the running call."""
    client, operation = Client(gateway.gateway.port, person), str(uuid.uuid4())
    options = [{"reattach_options": {"reattachable": reattachable}}]
    answers = client.begin("ExecutePlan", operation_id=operation, plan=plan(text), request_options=options)
    return client, operation, answers


def seconds_to_count(gateway: Guarded) -> float:
    """Return the seconds that another user's statement takes."""
    began = time.monotonic()
    assert Client(gateway.gateway.port, VICTIM).call("ExecutePlan", plan=plan(COUNT))
    return time.monotonic() - began


def fill_slots(gateway: Guarded, person: str, *, reattachable: bool = False) -> list[tuple[Client, str, Any]]:
    """Occupy every slot of Spark."""
    sent = [begin(gateway, person, CROSS_JOIN, reattachable=reattachable) for _ in range(2)]
    time.sleep(5)
    return sent


def test_a_statement_ends_when_its_client_leaves(spark_behind_gateway: Guarded) -> None:
    for _, _, answers in fill_slots(spark_behind_gateway, ATTACKER):
        answers.cancel()

    assert seconds_to_count(spark_behind_gateway) < WITHIN
    require_none_left(spark_behind_gateway, ATTACKER)


def test_an_abandoned_statement_ends_with_its_token(spark_behind_gateway: Guarded) -> None:
    tokens = spark_behind_gateway.gateway.tokens
    for _, _, answers in fill_slots(spark_behind_gateway, ENDING, reattachable=True):
        answers.cancel()
    caller = tokens.callers.pop(ENDING)
    try:
        assert seconds_to_count(spark_behind_gateway) < WITHIN
        require_none_left(spark_behind_gateway, ENDING)
    finally:
        tokens.callers[ENDING] = caller


@pytest.mark.parametrize("state", ["half read", "finished"])
def test_results_are_refused_at_once_when_the_session_has_ended(spark_behind_gateway: Guarded, state: str) -> None:
    gateway = spark_behind_gateway.gateway
    text = "SELECT id, repeat('x', 1000) FROM range(0, 20000, 1, 20)"
    client, operation, answers = begin(spark_behind_gateway, ATTACKER, text, reattachable=True)
    next(answers)
    if state == "finished":
        assert list(answers)
    answers.cancel()
    handle = next(each.handle for each in running(spark_behind_gateway, ATTACKER) if each.id == operation)

    gateway.sessions.close(handle)

    with pytest.raises(grpc.RpcError, match="the Spark session of the operation has ended"):
        list(client.begin("ReattachExecute", operation_id=operation))
    require_none_left(spark_behind_gateway, ATTACKER)


def test_abandoned_analyses_of_one_user_leave_capacity_for_another_user(spark_behind_gateway: Guarded) -> None:
    gateway = spark_behind_gateway.gateway
    union = plan(" UNION ALL ".join(f"SELECT {number} AS n" for number in range(1500)))
    path, sent = "/spark.connect.SparkConnectService/AnalyzePlan", list[Any]()
    for _ in range(64):
        client = Client(gateway.port, ATTACKER)
        request = client.request("AnalyzePlan", schema={"plan": union})
        sent.append(client.channel.unary_unary(path).future(request, metadata=client.metadata))
    time.sleep(1)
    for each in sent:
        each.cancel()

    assert seconds_to_count(spark_behind_gateway) < WITHIN
    require_none_left(spark_behind_gateway, ATTACKER, 120)


@pytest.mark.parametrize("kind", MANY)
def test_statements_that_fill_the_driver_leave_capacity_for_another_user(
    spark_behind_gateway: Guarded, kind: str
) -> None:
    text, count = MANY[kind]
    answers = [begin(spark_behind_gateway, ATTACKER, text)[2] for _ in range(count)]
    try:
        time.sleep(3)
        assert max(seconds_to_count(spark_behind_gateway) for _ in range(3)) < WITHIN
    finally:
        for each in answers:
            each.cancel()
        require_none_left(spark_behind_gateway, ATTACKER, 120)


@pytest.mark.soak
def test_the_error_of_a_statement_says_that_it_waited_for_others_of_its_user(spark_behind_gateway: Guarded) -> None:
    endless = r"SELECT rlike(repeat('x', 40), r'(x+x+)+y\1')"
    answers = [begin(spark_behind_gateway, ATTACKER, endless)[2] for _ in range(max(2, os.cpu_count() or 1))]
    time.sleep(3)

    with pytest.raises(grpc.RpcError, match=r"Spark has been planning \d+ of your statements for 60 s"):
        list(begin(spark_behind_gateway, ATTACKER, "SELECT 1")[2])

    for each in answers:
        each.cancel()
    require_none_left(spark_behind_gateway, ATTACKER, 60)


def test_a_release_names_the_operation_only_if_the_driver_had_it(spark_behind_gateway: Guarded) -> None:
    client, operation, answers = begin(spark_behind_gateway, ENDING, "SELECT 1", reattachable=True)
    assert list(answers)
    assert running(spark_behind_gateway, ENDING)

    released = client.call("ReleaseExecute", operation_id=operation, release_all={})
    assert not running(spark_behind_gateway, ENDING)
    again = client.call("ReleaseExecute", operation_id=operation, release_all={})

    assert (released.operation_id, again.operation_id) == (operation, "")
