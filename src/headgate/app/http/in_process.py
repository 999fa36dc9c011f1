"""An application served over real HTTP beside the code that asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.types import ASGIApp

from headgate.app.settings.settings import HOST


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answering = threading.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self.answering.set()


@contextmanager
def serve_in_process(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port of loopback until the block ends; gives its address."""
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
