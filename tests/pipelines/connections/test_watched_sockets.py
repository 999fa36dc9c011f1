"""Limits of waits on sockets: they also hold during TLS and while a connection is made."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from headgate.pipelines.connections.watched_sockets import DeadlineError, Watch, WatchedTransport
from headgate.pipelines.load_errors import EndedError
from tests.endpoints.http.test_tls import issue


@contextmanager
def listening(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[int]:
    """Pass the first connection to `serve`, for the length of the block; yield the port."""
    over = threading.Event()

    def accept() -> None:
        with suppress(OSError), listener.accept()[0] as peer:
            serve(peer, over)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        over.set()
        thread.join(5)


def with_tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*issue(folder, "api.example.org"))
    return context


@pytest.fixture
def any_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept the self-signed certificate of a test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: context)


def watched(seconds: float, has_to_end: Callable[[], bool] = lambda: False) -> Watch:
    watch = Watch(has_to_end)
    watch.start(seconds)
    return watch


def ask(url: str, watch: Watch, content: bytes = b"", connect: float = 60.0) -> httpx.Response:
    pauses = {"timeout": {"connect": connect, "read": 60.0, "write": 60.0}}
    with WatchedTransport(watch) as transport:
        answer = transport.handle_request(httpx.Request("POST", url, content=content, extensions=pauses))
        answer.read()
        return answer


def stay_silent(_: socket.socket, over: threading.Event) -> None:
    over.wait(30)


@pytest.mark.usefixtures("any_certificate")
def test_an_answer_under_tls_is_read_whole_however_slowly_it_comes(tmp_path: Path) -> None:
    context = with_tls(tmp_path)

    def serve(peer: socket.socket, over: threading.Event) -> None:
        with context.wrap_socket(peer, server_side=True) as wrapped:
            wrapped.recv(65536)
            for piece in (b"HTTP/1.1 200 OK\r\n", b"content-length: 2\r\n\r\n", b"[", b"]"):
                over.wait(0.3)
                wrapped.sendall(piece)
            over.wait(30)

    with listening(serve) as port:
        assert ask(f"https://127.0.0.1:{port}/", watched(30)).content == b"[]"


@pytest.mark.usefixtures("any_certificate")
def test_a_large_request_under_tls_is_sent_whole_to_a_slow_host(tmp_path: Path) -> None:
    context, came, sent = with_tls(tmp_path), bytearray(), bytes(16 << 20) + b"z"

    def serve(peer: socket.socket, over: threading.Event) -> None:
        with context.wrap_socket(peer, server_side=True) as wrapped:
            over.wait(0.5)
            while not came.endswith(b"z"):
                came.extend(wrapped.recv(65536))
            wrapped.sendall(b"HTTP/1.1 204 No\r\n\r\n")
            over.wait(30)

    with listening(serve) as port:
        assert ask(f"https://127.0.0.1:{port}/", watched(60), sent).status_code == httpx.codes.NO_CONTENT
    assert came.endswith(b"\r\n\r\n" + sent)


def test_a_stalled_handshake_ends_at_the_deadline() -> None:
    with listening(stay_silent) as port, pytest.raises(DeadlineError):
        ask(f"https://127.0.0.1:{port}/", watched(0.5))


def test_a_handshake_ends_when_the_run_has_to_end() -> None:
    ends = threading.Event()
    threading.Timer(0.3, ends.set).start()

    with listening(stay_silent) as port, pytest.raises(EndedError):
        ask(f"https://127.0.0.1:{port}/", watched(60, ends.is_set))


def test_a_request_that_the_host_does_not_read_ends_at_the_deadline() -> None:
    with listening(stay_silent) as port, pytest.raises(DeadlineError):
        ask(f"http://127.0.0.1:{port}/", watched(0.5), bytes(64 << 20))


def test_a_connection_that_is_not_accepted_ends_at_the_deadline() -> None:
    with full_listener() as port, pytest.raises(DeadlineError):
        ask(f"http://127.0.0.1:{port}/", watched(0.5))


def test_a_connection_that_is_not_accepted_ends_at_the_connect_timeout() -> None:
    with full_listener() as port, pytest.raises(httpx.ConnectTimeout):
        ask(f"http://127.0.0.1:{port}/", watched(60), connect=0.1)


def test_a_refused_connection_raises_a_connection_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]

    with pytest.raises(httpx.ConnectError, match="refused"):
        ask(f"http://127.0.0.1:{port}/", watched(30))


def test_a_host_without_the_right_certificate_is_refused(tmp_path: Path) -> None:
    context = with_tls(tmp_path)

    def serve(peer: socket.socket, _: threading.Event) -> None:
        context.wrap_socket(peer, server_side=True)

    with listening(serve) as port, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(f"https://127.0.0.1:{port}/", watched(30))


def test_the_transport_resolves_no_names() -> None:
    with pytest.raises(httpx.ConnectError):
        ask("http://localhost:9/", watched(30))


def test_an_idle_connection_that_the_host_has_ended_is_not_used_again() -> None:
    def serve(peer: socket.socket, _: threading.Event) -> None:
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")

    with WatchedTransport(watched(30)) as transport:
        with listening(serve) as port:
            request = httpx.Request("GET", f"http://127.0.0.1:{port}/")
            assert transport.handle_request(request).read() == b"[]"
        with pytest.raises(httpx.ConnectError):
            transport.handle_request(request)


@contextmanager
def full_listener() -> Iterator[int]:
    """Listen on a port whose queue is full: further connections are neither accepted nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.settimeout(0)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in waiting:
            each.close()
