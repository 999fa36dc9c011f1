"""Servers, event loops, concurrent calls and waits for tests that block."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

T = TypeVar("T")


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port of the loopback interface; yields its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def event_loop() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Run coroutines in a separate thread, so that a test can use blocking clients beside them."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(120)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def wait_until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until a condition holds; fail if it does not hold within `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "the condition did not hold within the time limit"
        time.sleep(0.005)


def call_at_once(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Make all calls at the same moment, each in a thread of its own; return their results."""
    wanted = list(calls)
    together = threading.Barrier(len(wanted))

    def call(each: Callable[[], T]) -> T:
        together.wait()
        return each()

    with ThreadPoolExecutor(len(wanted)) as pool:
        return list(pool.map(call, wanted))
