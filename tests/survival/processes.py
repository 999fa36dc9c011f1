"""A server with Spark and standalone workers, each a process that a test can kill."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.app.worker import StandaloneWorker
from headgate.pipelines.execution.worker import WorkerSettings
from headgate.spark.toolchain.prepare import default_cache
from tests.short_lived_drivers import is_compiler_quick, use_quick_compiler

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.survival.processes"])
TIMING = WorkerSettings(slots=2, round=0.2, renewed=1.0, lease=6.0)
"""Short times, so that a lost worker is detected soon, with some reserve for shared machines."""


def settings_of(folder: Path, store_url: str, gateway_port: int) -> Settings:
    """Return the settings that the server and its workers share."""
    return Settings(
        folder,
        default_cache({}),
        None,
        api_port=0,
        gateway_port=gateway_port,
        store_url=store_url,
        worker=False,
        gateway=f"http://localhost:{gateway_port}",
        log_level="error",
    )


def serve(settings: Settings, ready: Any) -> None:
    """Serve until the other end of `ready` is closed.

    Sends the address and the driver's process id at the start and on each request.
    """
    with run_in_background(settings, print) as server:
        ready.send((server.url, server.driver_pid))
        with suppress(EOFError):
            while True:
                ready.recv()
                ready.send((server.url, server.driver_pid))


def serve_with_quick_compiler(settings: Settings, ready: Any) -> None:
    """Serve as `serve`, with drivers without the optimizing compiler."""
    use_quick_compiler()
    serve(settings, ready)


def work(settings: Settings, ready: Any) -> None:
    """Execute runs until the other end of `ready` is closed."""
    apart = StandaloneWorker(settings, print, replace(TIMING, name=f"worker-{os.getpid()}"))
    ready.send(None)

    def wait() -> None:
        with suppress(EOFError):
            ready.recv()
        apart.stop()

    threading.Thread(target=wait, daemon=True).start()
    apart.run()


@dataclass
class Running:
    """A process, and the pipe to it."""

    process: BaseProcess
    pipe: Any

    def kill(self) -> None:
        """Kill the process, as when its machine is lost."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def end(self) -> None:
        """Ask the process to end; kill it if it does not."""
        self.pipe.close()
        self.process.join(30)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass
class Workshop:
    """The server and its workers. The Spark Connect port of the server is the same at each start."""

    settings: Settings
    workers: list[Running] = field(default_factory=list[Running])
    server: Running | None = None
    url: str = ""

    def start(self) -> None:
        """Start the server and two workers."""
        self._start_server()
        for _ in range(2):
            self._start_worker()

    def kill(self, what: str) -> None:
        """Kill one worker, the server or its driver, and restart it unless it restarts itself."""
        if what == "worker":
            self.workers.pop(0).kill()
            self._start_worker()
        elif what == "server":
            assert self.server is not None
            self.server.kill()
            self._start_server()
        else:
            self._kill_driver()

    def _kill_driver(self) -> None:
        """Kill the driver.

        If the driver has just ended by itself, wait for the next one and kill that.
        """
        while True:
            try:
                os.kill(self._driver(), signal.SIGKILL)
            except ProcessLookupError:
                time.sleep(0.2)
            else:
                return

    def end(self) -> None:
        """End all processes."""
        for each in self.workers:
            each.end()
        if self.server is not None:
            self.server.end()

    def _driver(self) -> int:
        assert self.server is not None
        while True:
            self.server.pipe.send(None)
            self.url, pid = self.server.pipe.recv()
            if pid:
                return pid
            time.sleep(0.2)  # the driver restarts

    def _start_server(self) -> None:
        self.server = _started(serve_with_quick_compiler if is_compiler_quick() else serve, self.settings)
        self.url, _ = self.server.pipe.recv()

    def _start_worker(self) -> None:
        started = _started(work, self.settings)
        started.pipe.recv()
        self.workers.append(started)


def _started(what: Callable[[Settings, Any], None], settings: Settings) -> Running:
    here, there = _FORKS.Pipe()
    process = _FORKS.Process(target=what, args=(settings, there))
    process.start()
    there.close()
    return Running(process, here)
