"""Hostile clients that send raw protobuf, gRPC, HTTP/2 or plain bytes.

They get an error from the gateway, and nothing reaches the driver.
"""

import socket
import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from headgate.spark.gateway import protos
from headgate.spark.gateway.rpcs import RPCS
from tests.spark.gateway.fake_backend import FakeBackend
from tests.spark.gateway.gateway_harness import RunningGateway
from tests.spark.gateway.hostile_client import Metadata, RawClient, bearer

base: Any = protos.base  # the type stubs do not accept nested messages written as dicts
OK, DENIED, UNKNOWN = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED
INVALID, TOO_LARGE = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED
SESSION = str(uuid.uuid4())
SIGNING = {"ReleaseSession", "Config"}
"""The calls that the gateway itself sends to the driver when a session begins."""
ONE_ROW = {"root": {"range": {"end": 1, "step": 1}}}
ANY = {"type_url": "type.googleapis.com/spark.connect.Plan", "value": b"x"}


@pytest.fixture
def client(gateway: RunningGateway, backend: FakeBackend) -> Iterator[RawClient]:
    backend.calls.clear()
    made = RawClient(f"127.0.0.1:{gateway.port}", bearer("ann"))
    yield made
    made.close()


def execute(**fields: Any) -> bytes:
    return base.ExecutePlanRequest(**{"session_id": SESSION, "plan": ONE_ROW, **fields}).SerializeToString()


def heard(backend: FakeBackend) -> set[str]:
    """Return the calls that reached the driver, except for those that begin a session."""
    return set(backend.names()) - SIGNING


METADATA: dict[str, Metadata] = {
    "none": (),
    "two tokens": (("authorization", "Bearer ann"), ("authorization", "Bearer bob")),
    "the same token twice": (("authorization", "Bearer ann"), ("authorization", "Bearer ann")),
    "two tokens in one": (("authorization", "Bearer ann, Bearer bob"),),
    "a binary one": (("authorization-bin", b"Bearer ann"),),
    "another scheme": (("authorization", "Basic YW5uOmFubg=="),),
    "no scheme": (("authorization", "ann"),),
    "an empty token": (("authorization", "Bearer "),),
    "a long token": (("authorization", "Bearer " + "a" * 4000),),
    "a user's name": (("x-user", "ann"), ("user_id", "ann"), ("x-forwarded-user", "ann")),
    "the driver's own key": (("authorization", "Bearer backend-token"),),
}


@pytest.mark.parametrize("what", METADATA)
def test_forged_metadata_does_not_authenticate_a_caller(client: RawClient, backend: FakeBackend, what: str) -> None:
    for rpc in RPCS.values():
        assert client.send(rpc.name, [execute()], METADATA[what]).code is UNKNOWN
    assert not backend.calls


PATHS = (
    "/",
    "/spark.connect.SparkConnectService/",
    "/spark.connect.SparkConnectService/executeplan",
    "/spark.connect.SparkConnectService/ExecutePlan/",
    "/spark.connect.SparkConnectService/../SparkConnectService/ExecutePlan",
    "/spark.connect.SparkConnectService%2fExecutePlan",
    "/spark.connect.SparkConnectService/GetStatus",
    "/SparkConnectService/ExecutePlan",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.health.v1.Health/Check",
)


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_path_is_not_served(client: RawClient, backend: FakeBackend, path: str) -> None:
    assert client.send(path, [execute()]).code is DENIED
    assert client.send(path, [execute()], ()).code is UNKNOWN
    assert not backend.calls


def unknown_field(number: int, content: bytes) -> bytes:
    key, prefix = (number << 3) | 2, bytearray()
    while key > 127:
        prefix.append(key & 127 | 128)
        key >>= 7
    return bytes(prefix) + bytes([key, len(content)]) + content


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "noise": b"\xff" * 64,
    "half a message": execute()[:-1],
    "a group that never ends": execute() + b"\x0b",
    "text that is not UTF-8": b"\x0a\x02\xff\xfe",
    "an unknown field": execute() + unknown_field(1000, b"x"),
    "an unknown field that is called like the user": execute(user_context={"user_id": "ann"}) + b"\xa2\x06\x01x",
    "an extension of the user": execute(user_context={"extensions": [ANY]}),
    "an extension of the request": execute(request_options=[{"extension": ANY}]),
    "an extension as a relation": execute(plan={"root": {"extension": ANY}}),
    "an extension as a command": execute(plan={"command": {"extension": ANY}}),
    "an extension of a hint of a relation": execute(plan={"root": {"limit": {"input": {"extension": ANY}}}}),
    "a session that is no UUID": execute(session_id="../../x"),
    "an operation that is no UUID": execute(operation_id=f"{SESSION}_Session_{SESSION}"),
    "a tag with a session in it": execute(tags=["x_Session_y"]),
    "a tag of Spark's": execute(tags=["SparkConnect_OperationTag_User_bob_Session_1_Operation_2"]),
    "a tag that is two": execute(tags=["x,y"]),
    "an empty tag": execute(tags=[""]),
}


@pytest.mark.parametrize("what", BODIES)
def test_a_malformed_body_is_not_sent_to_the_driver(client: RawClient, backend: FakeBackend, what: str) -> None:
    assert client.send("ExecutePlan", [BODIES[what]]).code in (DENIED, INVALID)
    assert not heard(backend)


def test_a_duplicated_message_is_sent_to_spark_as_the_gateway_read_it(client: RawClient, backend: FakeBackend) -> None:
    """Protobuf merges repeated fields, but another reader might use the first.

    The gateway therefore forwards the message that it has parsed.
    """
    other = base.ExecutePlanRequest(session_id=str(uuid.uuid4()), plan={"root": {"sql": {"query": "SELECT 1"}}})

    assert client.send("ExecutePlan", [other.SerializeToString() + execute()]).code is OK

    sent = backend.last("ExecutePlan")
    assert sent.session_id == SESSION
    assert sent.plan == base.Plan(**ONE_ROW)


def test_a_message_that_is_too_large_is_not_read(client: RawClient, backend: FakeBackend) -> None:
    zeros = [bytes(129 * 1024 * 1024)]

    assert client.send("ExecutePlan", zeros).code is TOO_LARGE
    assert client.send("ExecutePlan", zeros, compression=grpc.Compression.Gzip).code is TOO_LARGE
    assert not backend.calls


def test_a_request_for_a_session_of_another_user_runs_under_the_name_of_the_caller(
    client: RawClient, backend: FakeBackend
) -> None:
    forged = {"user_id": "bob:token-t-bob", "user_name": "bob"}
    for rpc in RPCS.values():
        request = rpc.request(session_id=SESSION, user_context=forged)
        if rpc.name in ("ReattachExecute", "ReleaseExecute"):
            request.operation_id = str(uuid.uuid4())
        client.send(rpc.name, [request.SerializeToString()])

    assert {request.user_context.user_id for _, request in backend.calls} == {"ann:token-t-ann"}


TCP: dict[str, bytes] = {
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
    "noise": bytes(range(256)) * 16,
    "half a preface": b"PRI * HTTP/2.0\r\n",
    "a frame that is too long": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x04\x00\x00\x00\x00\x00",
    "many resets": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) + b"\x00\x00\x04\x03\x00\x00\x00\x00\x01" * 1000,
}


@pytest.mark.parametrize("what", TCP)
def test_bytes_that_are_not_grpc_do_not_disturb_the_gateway(
    gateway: RunningGateway, client: RawClient, backend: FakeBackend, what: str
) -> None:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as connection:
        connection.sendall(TCP[what])

    assert client.send("ExecutePlan", [execute()]).code is OK
    assert heard(backend) == {"ExecutePlan"}
