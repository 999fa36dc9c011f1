"""A request is received once its caller is known: what a caller without a token sends takes no memory and no time."""

import threading
from collections.abc import Iterator

import grpc
import pytest
from fake_backend import FakeBackend, fake_backend
from raw_client import Client
from running import RunningGateway, running_gateway

from headgate.spark.gateway.rpcs import RPCS

SECONDS = 20.0
"""Far less than the gateway waits for a request."""


@pytest.fixture(scope="module")
def backend() -> Iterator[FakeBackend]:
    with fake_backend() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(backend: FakeBackend) -> Iterator[RunningGateway]:
    with running_gateway(backend.driver, "ann") as running:
        yield running


def refusal(client: Client, path: str, requests: Iterator[bytes]) -> grpc.RpcError:
    """Return the error of a call that sends these requests, which may never come."""
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


@pytest.mark.parametrize("path", [each for each, rpc in RPCS.items() if not rpc.streams_in])
def test_a_call_without_a_request_is_refused(gateway: RunningGateway, backend: FakeBackend, path: str) -> None:
    backend.calls.clear()

    error = refusal(Client(gateway.port, "ann"), path, iter(()))

    assert (error.code(), error.details()) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "the call has no request; send one",
    )
    assert not backend.calls
