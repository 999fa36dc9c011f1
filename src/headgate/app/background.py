"""Runs a server in a background thread, for the demo, tests and tools that need a whole deployment."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.app.server import Say, Server
from headgate.app.settings.settings import Settings


@contextmanager
def run_in_background(settings: Settings, say: Say) -> Iterator[Server]:
    """Serve until the block ends. The block begins when Spark is ready. Raises the error of a server that fails to start."""
    server = Server(settings, say)
    loop = asyncio.new_event_loop()
    started = threading.Event()
    failures: list[BaseException] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(server.run(started.set))
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=serve, name="headgate", daemon=True)
    thread.start()
    try:
        started.wait()
        if not failures:
            yield server
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join()
        loop.close()
    if failures:
        raise failures[0]
