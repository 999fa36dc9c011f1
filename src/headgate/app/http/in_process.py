"""Serves an application over real HTTP in a thread of the process that calls it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from headgate.app.settings.settings import HOST


class _Server(uvicorn.Server):
    """A uvicorn server with an event that is set when it answers requests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answering = threading.Event()

    @override
    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self.answering.set()


@contextmanager
def serve_in_process(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free loopback port until the block ends; yield its URL."""
    config = uvicorn.Config(app, host=HOST, port=0, log_level="warning", access_log=False, lifespan="off", ws="none")
    server = _Server(config)
    thread = threading.Thread(target=server.run, name="http", daemon=True)
    thread.start()
    server.answering.wait()
    try:
        yield f"http://{HOST}:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
