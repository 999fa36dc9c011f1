"""Sockets of HTTP exchanges with a hostile host: every wait ends at the exchange's deadline, or when the run has to end.

No wait is longer than a fraction of a second, whatever the host sends or holds back; between two waits the deadline
and the run are checked. So a host that sends single bytes slowly (slowloris), in the status line, the headers or the body, or
endless interim responses, occupies no thread for longer.
"""

import errno
import os
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

import httpcore
import httpx
from typing_extensions import override

from headgate.pipelines.load_errors import EndedError

_TURN: Final = 0.2
"""The longest single wait, in seconds."""
_LEAST: Final = 0.001
"""The shortest single wait, in seconds: a timeout of 0 would make the socket non-blocking."""
_STARTED: Final = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK})
_Error = type[Exception]
Result = TypeVar("Result")


class DeadlineError(Exception):
    """The exchange has exceeded its deadline."""


class Watch:
    """Limits one exchange at a time: to its deadline, and to the time until the run has to end."""

    def __init__(self, has_to_end: Callable[[], bool]) -> None:
        self._has_to_end = has_to_end
        self._until = 0.0

    def start(self, seconds: float) -> None:
        """Begin an exchange that may take this number of seconds, for the connect, the headers and the body together."""
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        """Raise `DeadlineError` if the deadline has passed, or `EndedError` if the run has to end."""
        if self._has_to_end():
            raise EndedError
        if time.monotonic() >= self._until:
            raise DeadlineError

    def turns(self, silence: float | None) -> Iterator[float]:
        """Yield the length of the next wait in seconds, until `silence` seconds have passed. Raises as `check` does."""
        over = time.monotonic() + (float("inf") if silence is None else silence)
        while True:
            self.check()
            yield max(_LEAST, min(_TURN, over - time.monotonic(), self._until - time.monotonic()))
            if time.monotonic() >= over:
                return


class WatchedTransport(httpx.HTTPTransport):
    """Sends requests by sockets that a watch limits. It uses no proxy and no certificates from the environment."""

    def __init__(self, watch: Watch) -> None:
        # Replaces httpx's own pool, whose sockets are not accessible: httpx does not pass a network backend on.
        context = httpx.create_ssl_context(trust_env=False)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=_Backend(watch))


class _Backend(httpcore.NetworkBackend):
    """Connects to addresses. It resolves no name: the addresses have been decided before."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        del local_address, socket_options  # the pool above sets neither
        try:
            return _Stream(self._connected(host, port, timeout), self._watch)
        except OSError as error:
            raise httpcore.ConnectError(error) from error

    def _connected(self, host: str, port: int, timeout: float | None) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        made = socket.socket(found[0][0], socket.SOCK_STREAM)
        try:
            made.settimeout(0.0)
            self._connect(made, found[0][4], timeout)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            made.close()
            raise
        return made

    def _connect(self, made: socket.socket, address: Any, timeout: float | None) -> None:
        """Connect, in short waits. Raises `OSError` or httpcore's timeout."""
        code = made.connect_ex(address)
        if code in _STARTED:
            with selectors.DefaultSelector() as selector:
                selector.register(made, selectors.EVENT_WRITE)
                if not any(selector.select(seconds) for seconds in self._watch.turns(timeout)):
                    raise httpcore.ConnectTimeout
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))


class _Stream(httpcore.NetworkStream):
    """One connection, plain or with TLS."""

    def __init__(self, own: socket.socket, watch: Watch) -> None:
        self._socket = own
        self._watch = watch

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        receive = partial(self._socket.recv, max_bytes)
        return self._in_turns(receive, timeout, httpcore.ReadTimeout, httpcore.ReadError)

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        while buffer:
            send = partial(self._socket.send, buffer)
            buffer = buffer[self._in_turns(send, timeout, httpcore.WriteTimeout, httpcore.WriteError) :]

    @override
    def close(self) -> None:
        self._socket.close()

    @override
    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            # The handshake is done below, in short waits: here it would be one wait that the host could prolong.
            wrapped = ssl_context.wrap_socket(
                self._socket, server_hostname=server_hostname, do_handshake_on_connect=False
            )
            stream = _Stream(wrapped, self._watch)
        except BaseException:
            self.close()
            raise
        try:
            stream._in_turns(wrapped.do_handshake, timeout, httpcore.ConnectTimeout, httpcore.ConnectError)
        except BaseException:
            stream.close()
            raise
        return stream

    @override
    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":
                return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
            case "is_readable":
                return self._is_readable()
            case _:
                return None

    def _is_readable(self) -> bool:
        """Whether an idle connection has something to read, most likely its end."""
        if self._socket.fileno() < 0:
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _in_turns(self, operation: Callable[[], Result], timeout: float | None, late: _Error, failed: _Error) -> Result:
        """Run an operation, and repeat it after each wait without progress. Raises `late` or `failed`."""
        for seconds in self._watch.turns(timeout):
            self._socket.settimeout(seconds)
            try:
                return operation()
            except TimeoutError:
                continue
            except OSError as error:
                raise failed(error) from error
        raise late
