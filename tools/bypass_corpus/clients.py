"""The client of the worker process: sends it a case, waits for the result, and kills it after a time limit."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from tools.bypass_corpus.verdicts import Ending

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 60.0
"""The longest time of a case, in seconds; the first cases of a driver take several seconds."""


class Client:
    """Attempts cases, each in a new session."""

    def __init__(self, folder: Path, log: Path, limit: float = LIMIT) -> None:
        """Run in `folder`; the standard error of the worker goes to `log`."""
        self._folder = folder
        self._log = log
        self._limit = limit
        self._worker: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Self:
        """Return the client; the worker starts with the first case."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker."""
        self._end()

    def attempt(self, **asked: Any) -> tuple[Ending, str]:
        """Return the ending of the case, and the message."""
        worker = self._worker or self._start()
        try:
            if worker.stdin:
                worker.stdin.write(json.dumps(asked) + "\n")
                worker.stdin.flush()
            line = self._answers.get(timeout=self._limit)
        except queue.Empty:
            worker.send_signal(signal.SIGUSR1)  # the worker writes its stack to the log
            time.sleep(1)
            self._end()
            return Ending.TIMED_OUT, f"no answer within {self._limit:.0f} s"
        except BrokenPipeError:
            line = ""
        if not line:
            self._end()
            return Ending.FAILED, "the client process ended"
        answer = json.loads(line)
        return Ending(answer["ending"]), answer["message"]

    def _start(self) -> subprocess.Popen[str]:
        self._answers = queue.Queue()
        with self._log.open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tools.bypass_corpus.worker"],
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        threading.Thread(target=_listen, args=(worker.stdout or (), self._answers), daemon=True).start()
        self._worker = worker
        return worker

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def _listen(stream: Iterable[str], answers: "queue.Queue[str]") -> None:
    """Add the lines of the worker to the queue; an empty line means that it has ended."""
    try:
        for line in stream:
            answers.put(line)
    except ValueError:
        pass  # closed while it was read
    answers.put("")
