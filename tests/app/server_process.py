"""`headgate serve` or `demo` in a process of its own, as a user starts it; tests read its output and its answers."""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

T = TypeVar("T")
HEADGATE = Path(sys.executable).parent / "headgate"
PS = shutil.which("ps") or "ps"
WITHIN = 300.0
"""A time limit in seconds; generous, because other processes use the machine too."""


class Serving:
    """A running server process."""

    def __init__(self, folder: Path, verb: str = "serve", program: Sequence[str] = (str(HEADGATE),)) -> None:
        command = [*program, verb, "--data", str(folder), "--api-port", "0", "--spark-port", "0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            self.lines.extend(map(str.rstrip, self.process.stdout))

    @property
    def output(self) -> str:
        """All output so far."""
        return "\n".join(self.lines)

    def until_printed(self, pattern: str) -> re.Match[str]:
        """Wait for a line and return its match."""

        def printed() -> re.Match[str] | None:
            is_over = self.process.poll() is not None
            found = re.search(pattern, self.output)
            assert found or not is_over, self.output
            return found

        return until(printed, self.failure(f"nothing printed like {pattern}"))

    def failure(self, what: str) -> Callable[[], str]:
        """Return the error message: the awaited event, and the output so far."""
        return lambda: f"{what}\n{self.output}"

    @property
    def url(self) -> str:
        """The URL of the API."""
        return self.until_printed(r"API at (http://[\d.:]+)/api/v1")[1]

    def health(self) -> dict[str, Any]:
        """The health that the API reports."""
        return dict(httpx.get(f"{self.url}/api/v1/health", trust_env=False, timeout=30).json())

    def until_ready(self) -> None:
        """Wait until Spark is ready."""
        until(lambda: self.health()["spark"] == "ready", self.failure("Spark is not ready"))

    def jvm(self) -> int:
        """The process id of the driver's JVM."""
        (found,) = children(self.process.pid, "java")
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal, wait for the end of the process, and return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(WITHIN)
        self.joined()
        return code

    def joined(self) -> None:
        """Wait until all output is read."""
        self._reader.join(WITHIN)


@contextmanager
def serving(folder: Path, verb: str = "serve", program: Sequence[str] = (str(HEADGATE),)) -> Iterator[Serving]:
    """Run a server for the length of the block. `program` is the command line that starts it."""
    server = Serving(folder, verb, program)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGKILL)
        server.joined()


def until(ready: Callable[[], T | None], failure: Callable[[], str]) -> T:
    """Return the first truthy result; fail after a long time."""
    deadline = time.monotonic() + WITHIN
    while not (answer := ready()):
        assert time.monotonic() < deadline, failure()
        time.sleep(0.1)
    return answer


def children(pid: int, name: str) -> list[int]:
    """Return the child processes of a process that have this name."""
    listed = subprocess.run([PS, "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(None, 2) for line in listed.splitlines())
    return [int(row[0]) for row in rows if int(row[1]) == pid and Path(row[2]).name == name]


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    listed = subprocess.run([PS, "-p", str(pid), "-o", "stat="], capture_output=True, text=True, check=False).stdout
    return bool(listed.strip()) and not listed.startswith("Z")
