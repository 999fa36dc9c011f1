"""Where the HTTP endpoints listen: as the settings say for everybody, and for the Spark driver where it finds them in any case."""

import asyncio
import math
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from headgate.app.http.middleware import ServedApp
from headgate.app.http.trusted_proxies import trust_proxies
from headgate.app.settings.settings import HOST, Settings
from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.endpoints.http.connection import build_connection_class
from headgate.endpoints.http.tls import Certificate, TlsError, build_context_factory

_EVERYWHERE = "0.0.0.0"  # noqa: S104 (compared with, not bound to)

_KEPT = 3600
"""Seconds that a connection between processes of one server may rest."""
_BACKLOG = 2048
"""How many connections may wait to be taken."""


class ServerError(Exception):
    """The server cannot start or go on; the message says what to do about it."""


class _Uvicorn(uvicorn.Server):
    """uvicorn without handlers of its own for signals: the server ends everything in order."""

    def __init__(self, config: uvicorn.Config, answering: asyncio.Event) -> None:
        super().__init__(config)
        self._answering = answering

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._answering.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the server."""
        yield


class HttpServer:
    """The ports of the HTTP endpoints, taken when this is made. `certificate` is None without TLS."""

    def __init__(self, settings: Settings, tasks: BackgroundTasks | None = None) -> None:
        """Take the ports. Raises `ServerError` if one cannot be had, or the certificate not be used."""
        self._settings = settings
        self._tasks = tasks or BackgroundTasks()
        self.certificate = _certificate(settings)
        self._outer = listen(settings.bind, settings.api_port, "HEADGATE_API_PORT")
        # The driver speaks no TLS, and only to this machine.
        reached = settings.bind in (HOST, _EVERYWHERE) and not settings.tls
        self._inner = None if reached else listen(HOST, 0, "HEADGATE_BIND")
        self._servers: Sequence[_Uvicorn] = ()
        self.answering = asyncio.Event()
        """Set when everybody's requests are answered."""

    @property
    def port(self) -> int:
        """The port for everybody."""
        return _port(self._outer)

    @property
    def url(self) -> str:
        """The address for everybody, as this machine names it."""
        host = self._settings.bind
        return f"{'https' if self.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def inner_url(self) -> str:
        """The address for the Spark driver."""
        return f"http://{HOST}:{_port(self._inner or self._outer)}"

    async def serve(self, front: ServedApp) -> None:
        """Serve until `end`, and then until what is under way is done."""
        served = [(self._http(front, self._tls(), self.answering), self._outer)]
        if self._inner:
            served.append((self._http(front, {}, asyncio.Event()), self._inner))
        self._servers = [server for server, _ in served]
        watching = self._watch_certificate()
        try:
            await asyncio.gather(*(server.serve(sockets=[opened]) for server, opened in served))
        finally:
            if watching:
                await watching.stop()

    def _watch_certificate(self) -> BackgroundTask | None:
        if self.certificate is None:
            return None
        return self._tasks.start_task(
            "watch of the certificate", self.certificate.watch, "a renewed TLS certificate is not read"
        )

    def end(self) -> None:
        """Take no more connections."""
        for server in self._servers:
            server.should_exit = True

    def close(self) -> None:
        """Let go of the ports without having served."""
        for opened in (self._outer, self._inner):
            if opened is not None:
                opened.close()

    def _http(self, front: ServedApp, tls: dict[str, Any], answering: asyncio.Event) -> _Uvicorn:
        settings = self._settings
        config = uvicorn.Config(
            front.app,
            http=build_connection_class(settings.limits, front.express, behind_proxies=bool(settings.proxies)),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
            **trust_proxies(settings.proxies),
            **tls,
        )
        return _Uvicorn(config, answering)

    def _tls(self) -> dict[str, Any]:
        return {"ssl_context_factory": build_context_factory(self.certificate)} if self.certificate else {}


class InternalServer:
    """One application on a free port of loopback, in the event loop that is running."""

    def __init__(self, app: ASGIApp, tasks: BackgroundTasks | None = None) -> None:
        self._tasks = tasks or BackgroundTasks()
        self._forget: Callable[[], None] = lambda: None
        self._port = listen(HOST, 0, "HEADGATE_BIND")
        self.url = f"http://{HOST}:{_port(self._port)}"
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            # Whoever asks keeps its connections for as long as both live.
            timeout_keep_alive=_KEPT,
        )
        self._server = _Uvicorn(config, asyncio.Event())
        self._serving: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Serve."""
        serving = self._serving = asyncio.create_task(self._server.serve(sockets=[self._port]))
        self._forget = self._tasks.add_check(
            "answers for the gateway",
            lambda: not serving.done(),
            "Spark Connect refuses every call; restart the server",
        )

    async def end(self) -> None:
        """Take no more requests, and return when those under way are answered."""
        self._forget()
        self._server.should_exit = True
        if self._serving is None:
            self._port.close()
        else:
            await self._serving


def listen(host: str, port: int, variable: str) -> socket.socket:
    """Return a socket that nobody else can have. Raises `ServerError` that names the variable to change."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends the parts of an answer at once only on connections of this protocol; else the last waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Bound alone, another process could still have it too.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ServerError(
            f"port {port} cannot be used ({error.strerror}); end what holds it, or set {variable}"
        ) from error
    return listener


def _certificate(settings: Settings) -> Certificate | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        return Certificate(settings.tls_cert, settings.tls_key)
    except TlsError as error:
        raise ServerError(f"{error}; HEADGATE_TLS_CERT and HEADGATE_TLS_KEY name them") from error


def _port(opened: socket.socket) -> int:
    port: int = opened.getsockname()[1]
    return port
