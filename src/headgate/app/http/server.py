"""The HTTP server: its public port by the settings, and a loopback port for the Spark driver."""

import asyncio
import math
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from headgate.app.http.middleware import ServedApp
from headgate.app.http.trusted_proxies import trust_proxies
from headgate.app.settings.settings import HOST, Settings
from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.endpoints.http.connection import build_connection_class
from headgate.endpoints.http.tls import Certificate, build_context_factory
from headgate.spark.tls_files import TlsError

_EVERYWHERE = "0.0.0.0"  # noqa: S104 (compared with, not bound to)

_KEPT = 3600
"""Seconds that a connection between processes of one server may be idle."""
_BACKLOG = 2048
"""The most connections that may wait to be accepted."""


class ServerError(Exception):
    """The server cannot start or continue; the message has the next step."""


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers: `Server` shuts everything down in order."""

    def __init__(self, config: uvicorn.Config, answering: asyncio.Event) -> None:
        super().__init__(config)
        self._answering = answering

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and set the event `answering`."""
        await super().startup(sockets)
        self._answering.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


class HttpServer:
    """The HTTP endpoints on their ports, which the constructor binds. `certificate` is None without TLS."""

    def __init__(self, settings: Settings, tasks: BackgroundTasks | None = None) -> None:
        """Bind the ports. Raises `ServerError` if a port or the certificate cannot be used."""
        self._settings = settings
        self._tasks = tasks or BackgroundTasks()
        self.certificate = _certificate(settings)
        self._outer = listen(settings.bind, settings.api_port, "HEADGATE_API_PORT")
        # The driver speaks no TLS, and only to this machine.
        reached = settings.bind in (HOST, _EVERYWHERE) and not settings.tls
        self._inner = None if reached else listen(HOST, 0, "HEADGATE_BIND")
        self._servers: Sequence[_Uvicorn] = ()
        self.answering = asyncio.Event()
        """Set when requests at the public port are answered."""

    @property
    def port(self) -> int:
        """The public port."""
        return _port(self._outer)

    @property
    def url(self) -> str:
        """The URL of the public port, with the host that the server is bound to."""
        host = self._settings.bind
        return f"{'https' if self.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def inner_url(self) -> str:
        """The URL for the Spark driver."""
        return f"http://{HOST}:{_port(self._inner or self._outer)}"

    async def serve(self, front: ServedApp) -> None:
        """Serve until `end` is called, and then until the active requests are answered."""
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
        """Stop accepting connections."""
        for server in self._servers:
            server.should_exit = True

    def close(self) -> None:
        """Close the ports of a server that did not serve."""
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
    """One application on a free loopback port, in the running event loop."""

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
            # The clients are processes of this server, which keep their connections while both run.
            timeout_keep_alive=_KEPT,
        )
        self._server = _Uvicorn(config, asyncio.Event())
        self._serving: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start serving."""
        serving = self._serving = asyncio.create_task(self._server.serve(sockets=[self._port]))
        self._forget = self._tasks.add_check(
            "answers for the gateway",
            lambda: not serving.done(),
            "Spark Connect refuses every call; restart the server",
        )

    async def end(self) -> None:
        """Stop accepting requests, and return when the active ones are answered."""
        self._forget()
        self._server.should_exit = True
        if self._serving is None:
            self._port.close()
        else:
            await self._serving


def listen(host: str, port: int, variable: str) -> socket.socket:
    """Return a listening socket, which no other process can bind. Raises `ServerError` with the setting to change."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends each part of a response at once only for this protocol; otherwise the last part waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Without `listen`, another process could bind the same port.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ServerError(
            f"port {port} of {host} cannot be used ({error.strerror}); stop the process that uses the port, or set {variable}"
        ) from error
    return listener


def _certificate(settings: Settings) -> Certificate | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        return Certificate(settings.tls_cert, settings.tls_key)
    except TlsError as error:
        raise ServerError(f"{error}; check the files of HEADGATE_TLS_CERT and HEADGATE_TLS_KEY") from error


def _port(opened: socket.socket) -> int:
    port: int = opened.getsockname()[1]
    return port
