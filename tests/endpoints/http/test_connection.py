"""HTTP on the wire, byte by byte: bytes that two parsers could read as different requests never become two requests."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.endpoints.http.connection import MAX_PIPELINED, build_connection_class
from headgate.endpoints.http.fast_path import FastPath
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import of_principals
from tests.app.server_process import until
from tests.endpoints.http.asgi_client import guarded

LIMITS = Limits(body=1000, header_bytes=4096, header_seconds=0.5, body_seconds=0.5)
Address = tuple[str, int]


@contextmanager
def listening(
    app: Any, limits: Limits = LIMITS, express: FastPath | None = None, *, behind_proxies: bool = False, **options: Any
) -> Iterator[Address]:
    """Serve on a free port with the server's connection class."""
    http = build_connection_class(limits, express, behind_proxies=behind_proxies)
    config = uvicorn.Config(app, port=0, http=http, ws="none", lifespan="off", log_level="critical", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[:2]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module", params=["usual", "express"])
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    """A server, without the fast path and with one that examines each request first."""
    short = FastPath({}, of_principals(LIMITS), (), LIMITS) if request.param == "express" else None
    with listening(guarded(limits=LIMITS), express=short, server_header=False) as found:
        yield found


def exchange(
    address: Address,
    *pieces: bytes,
    wrap: Callable[[socket.socket], Any] = lambda plain: plain,
    end: bool = False,
    pause: float = 0.0,
) -> bytes:
    """Send these pieces, and return all answers until the server closes the connection; `end` closes the client's side.

    `pause` is the time in seconds between the pieces, so that each arrives in a segment of its own.
    """
    with socket.create_connection(address, timeout=10) as plain, wrap(plain) as opened:
        gathered = b""
        try:
            for piece in pieces:
                opened.sendall(piece)
                time.sleep(pause)
            if end:
                opened.shutdown(socket.SHUT_WR)
            while more := opened.recv(65536):
                gathered += more
        except ConnectionResetError:
            pass
        return gathered


def statuses(answers: bytes) -> list[int]:
    """Return the status codes of the answers."""
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


HEAD = b"POST /things/a HTTP/1.1\r\nHost: h\r\n"
LAST = b"GET /things/last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


class TestOneConnection:
    def test_a_connection_carries_several_requests_in_sequence(self, address: Address) -> None:
        answers = exchange(address, HEAD + b"Content-Length: 2\r\n\r\nhi", LAST)

        assert statuses(answers) == [200, 200]
        assert b"server:" not in answers.lower()

    def test_a_body_in_chunks_is_accepted(self, address: Address) -> None:
        chunks = b"2\r\nab\r\n3;note=x\r\ncde\r\n0\r\n\r\n"

        answers = exchange(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunks, LAST)

        assert statuses(answers) == [200, 200]
        assert b'"body":"abcde"' in answers

    def test_a_refusal_reaches_a_client_that_still_sends_its_body(self, address: Address) -> None:
        # If the server closed the connection before the body has arrived, it would be reset, and the answer lost.
        head = b"POST /things HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\n\r\n"
        with socket.create_connection(address, timeout=10) as client:
            client.sendall(head)
            for _ in range(4):
                time.sleep(0.05)
                client.sendall(b"x" * 100_000)

            assert client.recv(100).startswith(b"HTTP/1.1 413 ")

    def test_a_connection_continues_after_an_invalid_address(self, address: Address) -> None:
        # If the server closed the connection before the body has arrived, it would be reset, and the answer lost.
        answers = exchange(address, b"POST /things/%00 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n", b"hi", LAST)

        assert statuses(answers) == [400, 200]

    @pytest.mark.parametrize(
        "rest",
        [
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            b"Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
            b"Content-Length: 5, 5\r\n\r\nhello",
            b"Content-Length: +5\r\n\r\nhello",
            b"Content-Length : 5\r\n\r\nhello",
            b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
            b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            b" Content-Length: 5\r\n\r\nhello",
            b"X-A: b\r\n folded\r\n\r\n",
            b"X-A: b\x00c\r\n\r\n",
            b"X-A: b\rContent-Length: 5\r\n\r\nhello",
            b"Host: other\r\n\r\n",
            b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        ],
    )
    def test_a_request_with_ambiguous_framing_is_refused_and_ends_the_connection(
        self, address: Address, rest: bytes
    ) -> None:
        answers = exchange(address, HEAD + rest + LAST)

        assert statuses(answers) == [400]
        assert b"application/problem+json" in answers

    def test_a_header_in_the_trailer_is_ignored(self, address: Address) -> None:
        trailer = b"0\r\nX-Request-Id: from-the-trailer\r\nAuthorization: Bearer root\r\n\r\n"

        answers = exchange(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", trailer, LAST)

        assert statuses(answers) == [200, 200]
        assert b"from-the-trailer" not in answers

    def test_a_request_without_a_host_is_refused(self, address: Address) -> None:
        assert statuses(exchange(address, b"GET /things/a HTTP/1.1\r\n\r\n")) == [400]

    def test_a_connection_is_not_upgraded_to_another_protocol(self, address: Address) -> None:
        upgrade = b"GET /things/a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

        assert 101 not in statuses(exchange(address, upgrade + LAST))

    @pytest.mark.parametrize("piece", [b"X-A: " + b"a" * 1000, b"X-B: b\r\n" * 200])
    def test_a_head_without_an_end_is_refused(self, address: Address, piece: bytes) -> None:
        def sent(plain: socket.socket) -> socket.socket:
            plain.sendall(HEAD)
            for _ in range(50):
                try:
                    plain.sendall(piece)
                except OSError:
                    break
                time.sleep(0.001)
            return plain

        answers = exchange(address, wrap=sent)

        assert statuses(answers) in ([431], [])

    @pytest.mark.parametrize("begun", [b"", b"GET /thi", HEAD + b"X-A: "])
    def test_a_connection_is_closed_when_the_head_does_not_arrive(self, address: Address, begun: bytes) -> None:
        assert exchange(address, begun) == b""

    def test_a_request_is_timed_out_when_its_body_does_not_arrive(self, address: Address) -> None:
        assert statuses(exchange(address, HEAD + b"Content-Length: 9\r\n\r\nhi")) == [408]

    def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(self, address: Address) -> None:
        answers = exchange(address, HEAD + b"Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n")

        assert statuses(answers) == [413]

    @pytest.mark.parametrize("request_line", [b"POST /things/%00", b"POST /things/%ff", b"GET /healthz"])
    def test_a_connection_ends_after_an_answer_that_did_not_wait_for_the_body(
        self, address: Address, request_line: bytes
    ) -> None:
        # A client that omits the body sends its next request, a header of which the server would read as a request.
        note = b"GET /things/a HTTP/1.1\r\nHost: h\r\nX-Note: "
        head = b"%b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"

        answers = exchange(address, head % (request_line, len(note)), note + LAST)

        assert len(statuses(answers)) == 1

    @pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
    @pytest.mark.parametrize("request_line", [b"POST /things/a", b"GET /healthz", b"CONNECT h:1"])
    @pytest.mark.parametrize("length", [b"Content-Length: %d", b"Transfer-Encoding: chunked\r\nX-Note: %d"])
    @pytest.mark.parametrize("pause", [0.0, 0.1])
    def test_the_body_of_a_request_for_another_protocol_is_not_the_next_request(
        self, address: Address, protocol: bytes, request_line: bytes, length: bytes, pause: float
    ) -> None:
        framing = length % len(LAST)
        head = b"%b HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: %b\r\n%b\r\n\r\n"

        answers = exchange(address, head % (request_line, protocol, framing), LAST, pause=pause)

        assert statuses(answers) == [400]

    @pytest.mark.parametrize("pause", [0.0, 0.1])
    def test_a_request_for_another_protocol_is_answered_like_any_other(self, address: Address, pause: float) -> None:
        asking = b"GET /things/a HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: TLS/1.2\r\n\r\n"

        assert statuses(exchange(address, asking, asking, LAST, pause=pause)) == [200, 200, 200]
        assert statuses(exchange(address, asking + asking + LAST)) == [200, 200, 200]

    @pytest.mark.parametrize("request_line", [b"GET /healthz HTTP/1.1\r\n", b"GET /things/a HTTP/1.1\r\n"])
    def test_a_connection_with_too_many_pipelined_requests_is_refused(
        self, address: Address, request_line: bytes
    ) -> None:
        answers = statuses(exchange(address, (request_line + b"Host: h\r\n\r\n") * 1000))

        assert answers[-1] == 429
        assert len(answers) <= MAX_PIPELINED + 2

    def test_a_running_request_learns_of_a_disconnect_with_others_queued_behind_it(self) -> None:
        told = threading.Event()

        async def slow(_scope: Any, receive: Any, _send: Any) -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            told.set()

        with listening(slow, LIMITS) as address:
            kept = b"GET /things/a HTTP/1.1\r\nHost: h\r\n\r\n"
            assert statuses(exchange(address, kept * 10)) == [429]
            assert told.wait(10)

    def test_a_connection_answers_a_limited_number_of_pipelined_requests(self, address: Address) -> None:
        kept = b"GET /things/a HTTP/1.1\r\nHost: h\r\n\r\n"

        assert statuses(exchange(address, kept * MAX_PIPELINED + LAST)) == [200] * (MAX_PIPELINED + 1)

    @pytest.mark.parametrize(
        "sent",
        [
            b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ",
        ],
    )
    @pytest.mark.parametrize("rest", [b"\r\n", b"x"])
    def test_a_connection_is_closed_when_bytes_after_an_answer_are_no_request(
        self, address: Address, sent: bytes, rest: bytes
    ) -> None:
        with socket.create_connection(address, timeout=4) as opened:
            opened.sendall(sent)
            assert statuses(opened.recv(65536)) == [200]
            with suppress(OSError):
                opened.sendall(rest)
            with suppress(ConnectionResetError):
                while opened.recv(65536):
                    pass


LARGE = 20_000_000


async def large(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer with a large body in one message."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(LARGE).encode())]})
    await send({"type": "http.response.body", "body": b"a" * LARGE})


async def streamed(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer with a body of the same size in equal pieces."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(LARGE).encode())]})
    for left in reversed(range(LARGE // 100_000)):
        await send({"type": "http.response.body", "body": b"a" * 100_000, "more_body": left > 0})


@pytest.mark.parametrize("app", [large, streamed])
class TestALargeAnswer:
    def test_a_large_answer_is_dropped_when_the_client_does_not_read_it(self, app: Any) -> None:
        with listening(app, LIMITS) as address, socket.create_connection(address, timeout=10) as opened:
            opened.sendall(LAST)
            time.sleep(3 * LIMITS.header_seconds + 0.5)
            taken = 0
            with suppress(ConnectionResetError):
                while piece := opened.recv(1 << 20):
                    taken += len(piece)

        assert taken < LARGE

    def test_a_large_answer_is_sent_to_a_client_that_reads_slowly(self, app: Any) -> None:
        with listening(app, LIMITS) as address, socket.create_connection(address, timeout=10) as opened:
            opened.sendall(LAST)
            taken = 0
            while piece := opened.recv(1 << 18):
                taken += len(piece)
                time.sleep(0.02)

        assert taken > LARGE


class TestManyConnections:
    def test_the_connections_of_one_network_are_limited(self) -> None:
        few = replace(LIMITS, network_connections=1, header_seconds=30)
        with listening(guarded(), few) as address, socket.create_connection(address, timeout=10) as held:
            held.sendall(b"GET /")
            refused = exchange(address, b"")

        assert statuses(refused) == [503]
        assert b"your network has too many open connections" in refused

    def test_the_connections_of_a_proxy_have_no_network_limit(self) -> None:
        few = replace(LIMITS, network_connections=1)
        with (
            listening(guarded(), few, behind_proxies=True) as address,
            socket.create_connection(address, timeout=10) as held,
        ):
            held.sendall(b"GET /")
            assert statuses(exchange(address, LAST)) == [200]

    def test_the_connections_are_limited_until_one_is_closed(self) -> None:
        with listening(guarded(), replace(LIMITS, connections=1, header_seconds=30)) as address:
            with socket.create_connection(address, timeout=10) as held:
                held.sendall(b"GET /")
                refused = exchange(address, b"")
            until(lambda: statuses(exchange(address, LAST)) == [200], lambda: "the server answers no request")

        assert statuses(refused) == [503]
        assert b"retry-after: 1" in refused


PARTS = st.sampled_from(
    [
        b"GET ", b"POST ", b"BREW ", b"/things/a", b"/things/%ff", b"*", b"http://other/", b" HTTP/1.1", b" HTTP/1.0", b" HTTP/9.9",
        b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"Host: h", b"Content-Length: 3", b"Content-Length: -1",
        b"Transfer-Encoding: chunked", b"Connection: close", b"Connection: Upgrade", b"Upgrade: h2c", b"Expect: 100-continue",
        b"Authorization: Bearer p", b"X-Request-Id: aaaaaaaa", b"3\r\nabc\r\n", b"0\r\n\r\n", b'{"a": [', b"\xff\xfe", b"a" * 300,
    ]
)  # fmt: skip


class TestWhateverIsSent:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(PARTS, max_size=25))
    def test_arbitrary_bytes_never_cause_a_server_error(self, address: Address, parts: list[bytes]) -> None:
        """Promise: no bytes cause a server error, and the next client is served."""
        answers = exchange(address, b"".join(parts) + b"\r\n\r\n" + LAST, end=True)

        assert {status for status in statuses(answers) if status >= 500} == set()
        assert statuses(exchange(address, LAST)) == [200]
