"""The gateway reads a request only after it has authenticated the caller.

Data that a client sends without a token takes no memory and no time.
"""

import resource
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from headgate.spark.gateway import server
from headgate.spark.gateway.rpcs import RPCS, SERVICE
from tests.spark.gateway.fake_backend import FakeBackend
from tests.spark.gateway.gateway_harness import UNDECIDED, RunningGateway
from tests.spark.gateway.raw_client import Client
from tests.spark.gateway.test_interrupts import tracked
from tests.threads import wait_until

SECONDS = 20.0
"""Seconds; far less than the gateway waits for a request."""
ONE_REQUEST = [path for path, rpc in RPCS.items() if not rpc.streams_in]
KIB = 1024
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""The first bytes of an HTTP/2 connection, with settings that change nothing."""
STREAMS_SETTING, WINDOW_SETTING = 3, 4


def refusal(client: Client, path: str, requests: Iterator[bytes]) -> grpc.RpcError:
    """Return the error of a call that sends these requests, which may never arrive."""
    with pytest.raises(grpc.RpcError) as raised:
        list(client.channel.stream_stream(path)(requests, metadata=client.metadata, timeout=SECONDS))
    return raised.value


@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("path", RPCS)
def test_a_caller_without_a_valid_token_is_refused_before_its_request_is_received(
    gateway: RunningGateway, path: str, token: str | None
) -> None:
    ended = threading.Event()

    def never() -> Iterator[bytes]:
        ended.wait(SECONDS * 2)
        yield b""

    try:
        error = refusal(Client(gateway.port, token), path, never())
    finally:
        ended.set()

    assert error.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("path", ONE_REQUEST)
def test_a_call_without_a_request_is_refused(gateway: RunningGateway, backend: FakeBackend, path: str) -> None:
    backend.calls.clear()

    error = refusal(Client(gateway.port, "ann"), path, iter(()))

    assert (error.code(), error.details()) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "the call has no request; send one request",
    )
    assert not backend.calls


@pytest.mark.parametrize("path", ONE_REQUEST)
def test_a_call_of_one_request_with_a_second_one_is_refused(
    gateway: RunningGateway, backend: FakeBackend, path: str
) -> None:
    client = Client(gateway.port, "ann")
    backend.calls.clear()

    error = refusal(client, path, iter([client.request(RPCS[path].name)] * 2))

    assert (error.code(), error.details()) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "the call has more than one request; send each request in its own call",
    )
    assert not backend.calls


class Flood:
    """A call that sends messages of 16 KiB while the gateway accepts them; `taken` counts their bytes."""

    def __init__(self, channel: grpc.Channel, token: str) -> None:
        self.taken = 0
        self._over = threading.Event()
        metadata = (("authorization", f"Bearer {token}"),)
        self._call: Any = channel.stream_stream(SERVICE + "AddArtifacts")(self._messages(), metadata=metadata)

    def settle(self) -> int:
        """Return the number of accepted bytes once it no longer grows."""
        wait_until(lambda: self.taken > 0)
        before = 0
        while before < self.taken:
            before = self.taken
            time.sleep(0.5)
        return self.taken

    def end(self) -> None:
        """Close the call."""
        self._over.set()
        self._call.cancel()

    def _messages(self) -> Iterator[bytes]:
        while not self._over.is_set() and self.taken < 64 * KIB * KIB:
            self.taken += 16 * KIB
            yield bytes(16 * KIB)


@pytest.fixture
def floods(gateway: RunningGateway) -> Iterator[list[Flood]]:
    """Four calls on one connection whose caller is not yet authenticated."""
    channel = grpc.insecure_channel(f"127.0.0.1:{gateway.port}")
    begun = [Flood(channel, UNDECIDED) for _ in range(4)]
    yield begun
    gateway.tokens.decide.set()
    for each in begun:
        each.end()
    channel.close()
    gateway.tokens.decide.clear()


def test_an_unauthenticated_caller_sends_no_more_than_a_window(floods: list[Flood]) -> None:
    # The client's own gRPC buffers a few more messages than it may send.
    assert max(each.settle() for each in floods) <= 256 * KIB


def test_a_caller_is_answered_while_floods_of_other_callers_wait(gateway: RunningGateway, floods: list[Flood]) -> None:
    for each in floods:
        each.settle()

    ann = Client(gateway.port, "ann")

    assert ann.version().session_id == ann.session_id


STRANGER = """
import sys, grpc
from concurrent.futures import ThreadPoolExecutor

def send(_):
    channel = grpc.insecure_channel(sys.argv[1], options=[("grpc.max_send_message_length", -1)])
    try:
        channel.unary_unary(sys.argv[2])(bytes(100 * 1024 * 1024), timeout=60)
    except grpc.RpcError as error:
        return error.code().name

with ThreadPoolExecutor(3) as threads:
    print(*set(threads.map(send, range(3))))
"""


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def test_requests_of_100_mib_without_a_token_take_no_memory(gateway: RunningGateway) -> None:
    before = highest = resident()
    sent = [sys.executable, "-c", STRANGER, f"127.0.0.1:{gateway.port}", SERVICE + "AnalyzePlan"]

    with subprocess.Popen(sent, stdout=subprocess.PIPE, text=True) as stranger:
        while stranger.poll() is None:
            highest = max(highest, resident())
            time.sleep(0.005)
        answers, _ = stranger.communicate()

    assert answers.strip() == "UNAUTHENTICATED"
    assert highest - before < 64 * KIB * KIB


def test_a_statement_does_not_run_on_when_its_client_leaves_during_the_request(
    gateway: RunningGateway, backend: FakeBackend
) -> None:
    client, left = Client(gateway.port, "ann"), threading.Event()
    backend.calls.clear()
    backend.held = backend.plans_wait = True  # so that no answer shows the gateway that the client has left

    def unended() -> Iterator[bytes]:
        yield client.request("ExecutePlan", operation_id=str(uuid.uuid4()))
        left.wait(SECONDS)

    call: Any = client.channel.stream_stream(SERVICE + "ExecutePlan")(unended(), metadata=client.metadata)
    time.sleep(0.5)  # the gateway has the request, but not the end of the request
    call.cancel()
    left.set()
    time.sleep(0.5)

    try:
        wait_until(lambda: "ExecutePlan" not in backend.names() or "Interrupt" in backend.names())
    finally:
        backend.held = backend.plans_wait = False
        backend.arrive.set()
        backend.go_on.set()
    wait_until(lambda: tracked(gateway) == 0)


def settings_of(port: int) -> dict[int, int]:
    """Return the HTTP/2 settings that the gateway sends to a client first."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(PREFACE)
        with connection.makefile("rb") as answers:
            length = int.from_bytes(answers.read(9)[:3], "big")
            told = answers.read(length)
    parts = [told[at : at + 6] for at in range(0, length, 6)]
    return {int.from_bytes(part[:2], "big"): int.from_bytes(part[2:], "big") for part in parts}


def test_a_connection_has_a_bounded_share_of_the_calls_and_64_kib_for_each(gateway: RunningGateway) -> None:
    settings = settings_of(gateway.port)

    assert settings[WINDOW_SETTING] == 64 * KIB
    assert settings[STREAMS_SETTING] * 4 <= server._CALLS_AT_ONCE  # pyright: ignore[reportPrivateUsage]
