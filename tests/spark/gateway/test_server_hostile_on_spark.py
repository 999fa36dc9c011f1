"""Attacks that need a real Spark: ids of other users give no access, and the driver refuses direct connections."""

import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from headgate.spark.gateway import protos
from headgate.spark.gateway.rpcs import RPCS, SERVICE
from tests.spark.gateway.guarded_gateway import Guarded
from tests.spark.gateway.hostile_client import Answer, RawClient, bearer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
base: Any = protos.base  # the type stubs do not accept nested messages written as dicts
OK, UNKNOWN = grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED
ANN, BOB = "p0", "p1"
ANNS_USER = {"user_id": f"{ANN}:token-t-{ANN}", "user_name": ANN}
REFUSED = "42501"


class Person:
    """A user with a token, a session and an address to send to."""

    def __init__(self, address: str, token: str) -> None:
        self.client = RawClient(address, bearer(token))
        self.session = str(uuid.uuid4())

    def send(self, name: str, *, session: str | None = None, **fields: Any) -> Answer:
        request = RPCS[SERVICE + name].request(session_id=session or self.session, **fields)
        return self.client.send(name, [request.SerializeToString()])

    def sql(self, query: str, **fields: Any) -> Answer:
        return self.send("ExecutePlan", plan={"root": {"sql": {"query": query}}}, **fields)


@pytest.fixture
def ann(spark_behind_gateway: Guarded) -> Iterator[Person]:
    person = Person(f"127.0.0.1:{spark_behind_gateway.gateway.port}", ANN)
    yield person
    person.send("ReleaseSession")
    person.client.close()


@pytest.fixture
def bob(spark_behind_gateway: Guarded) -> Iterator[Person]:
    person = Person(f"127.0.0.1:{spark_behind_gateway.gateway.port}", BOB)
    yield person
    person.send("ReleaseSession")
    person.client.close()


def rows(answer: Answer) -> int:
    """Return the number of rows in an answer."""
    return sum(base.ExecutePlanResponse.FromString(message).arrow_batch.row_count for message in answer.messages)


def test_a_session_id_of_another_user_does_not_open_their_session(ann: Person, bob: Person) -> None:
    assert ann.sql("CREATE TEMP VIEW anns AS SELECT 1 AS x").code is OK

    seen = bob.sql("SELECT * FROM anns", session=ann.session, user_context=ANNS_USER)
    clone = str(uuid.uuid4())
    bob.send("CloneSession", session=ann.session, new_session_id=clone, user_context=ANNS_USER)
    cloned = bob.sql("SELECT * FROM anns", session=clone, user_context=ANNS_USER)
    bob.send("ReleaseSession", session=ann.session, user_context=ANNS_USER)

    for answer in (seen, cloned):
        assert answer.code is not OK
        assert rows(answer) == 0
    assert rows(ann.sql("SELECT * FROM anns")) == 1


def test_an_operation_of_another_user_can_be_neither_read_nor_ended(ann: Person, bob: Person) -> None:
    operation = str(uuid.uuid4())
    options = [{"reattach_options": {"reattachable": True}}]
    done: list[Answer] = []
    # Many short tasks, but not too many: a task that has begun runs to its end even if it is interrupted.
    query = "SELECT count(*) FROM range(0, 2000000000, 1, 200) a WHERE a.id % 7 = sqrt(a.id)"

    def run() -> None:
        done.append(ann.sql(query, operation_id=operation, request_options=options))

    running = threading.Thread(target=run)
    running.start()
    mine = {"session": ann.session, "user_context": ANNS_USER}
    time.sleep(2)

    read = bob.send("ReattachExecute", operation_id=operation, **mine)
    assert read.code is not OK
    assert rows(read) == 0
    for kind in (1, 2, 3):  # all, by tag, by id
        named = {2: {"operation_tag": "x"}, 3: {"operation_id": operation}}.get(kind, {})
        bob.send("Interrupt", interrupt_type=kind, **named, **mine)
    bob.send("ReleaseExecute", operation_id=operation, release_all={}, **mine)
    assert running.is_alive()

    ann.send("Interrupt", interrupt_type=3, operation_id=operation)
    running.join(60)
    assert done[0].code is not OK


def test_an_error_of_another_user_cannot_be_read(ann: Person, bob: Person) -> None:
    failed = ann.sql("SELECT raise_error('anns secret')")
    assert b"anns secret" in failed.rich
    ids = [text for text in failed.rich.decode(errors="replace").split() if text.count("-") == 4]

    for error_id in [*ids, str(uuid.uuid4())]:
        told = bob.send("FetchErrorDetails", session=ann.session, error_id=error_id, user_context=ANNS_USER)
        assert b"anns secret" not in b"".join(told.messages)


def test_the_driver_refuses_a_client_that_connects_directly(spark_behind_gateway: Guarded) -> None:
    driver = spark_behind_gateway.world.driver
    nobody = RawClient(driver.address)
    request = base.ExecutePlanRequest(session_id=str(uuid.uuid4()), user_context=ANNS_USER)
    request.plan.root.sql.query = "SELECT * FROM lake.raw.flights"

    for metadata in ((), bearer(""), bearer(ANN), bearer("0" * len(driver.token)), bearer(driver.token[:-1])):
        assert nobody.send("ExecutePlan", [request.SerializeToString()], metadata).code is UNKNOWN
    unsigned = nobody.send("ExecutePlan", [request.SerializeToString()], bearer(driver.token))
    assert unsigned.sqlstate == REFUSED
    assert "connect through the gateway" in unsigned.text
    nobody.close()


@pytest.mark.parametrize("value", ["", "hgs_x", "hgs_admin", "hgs_admin.0000"])
def test_a_forged_signature_is_refused_by_the_driver(spark_behind_gateway: Guarded, value: str) -> None:
    driver = spark_behind_gateway.world.driver
    direct = Person(driver.address, driver.token)
    pairs = [{"key": "headgate.principal.token", "value": value}]

    direct.send("Config", user_context=ANNS_USER, operation={"set": {"pairs": pairs}})
    answer = direct.sql("SELECT 1", user_context=ANNS_USER)

    assert answer.sqlstate == REFUSED
    direct.client.close()
