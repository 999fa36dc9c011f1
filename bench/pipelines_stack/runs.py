"""Pipelines on the measured server: saved, run, and awaited."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bench.guard_stack.served import Served
from bench.guard_stack.timing import WrongAnswerError

DATABASE: Final = "moved"
FILES: Final = "files"
_UNDER_WAY = ("queued", "running")
_POLL = 0.02
"""The shortest time between two requests for the state of a run, in seconds."""
_RARER = 200
"""The time between two requests grows to this fraction (1/200) of the run's time: frequent requests use processors that the run needs."""


class Runs:
    """The pipelines of the server, as the owner."""

    def __init__(self, sides: Served, files: Path) -> None:
        self._client = sides.api()
        files.mkdir(exist_ok=True)
        self._send("POST", "/databases", {"name": DATABASE})
        self._send("POST", "/connections", {"name": FILES, "folder": str(files)})

    def save(self, definition: Mapping[str, Any]) -> None:
        """Save a pipeline."""
        self._send("PUT", f"/pipelines/{definition['name']}", definition)

    def run(self, pipeline: str) -> None:
        """Run a pipeline and wait for it. Raises `WrongAnswerError` unless it succeeds."""
        run, began = self._send("POST", f"/pipelines/{pipeline}/runs")["run"], time.monotonic()
        while (shown := self._send("GET", f"/runs/{run}"))["state"] in _UNDER_WAY:
            time.sleep(max(_POLL, (time.monotonic() - began) / _RARER))
        if shown["state"] != "succeeded":
            raise WrongAnswerError(f"the run of `{pipeline}` is `{shown['state']}`: {shown}")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._client.request(method, f"/api/v1{path}", json=body)
        if answer.is_error:
            raise WrongAnswerError(f"{method} {path}: {answer.text:.300}")
        return answer.json()
