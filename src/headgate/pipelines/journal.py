"""A run's document: its state, its log and how far Spark is, written while it runs."""

import threading
from collections.abc import Callable
from typing import Any

from headgate.control.ports import DocumentPut, Store
from headgate.facts.ids import RunId

_LINES = 1000


class Journal:
    """Keeps one run's document up to date in the store."""

    def __init__(self, store: Store, run: RunId, clock: Callable[[], float]) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._lock = threading.Lock()
        self._body: dict[str, Any] = {**(store.document("run", run) or {}), "log": [], "progress": {}}

    def say(self, line: str) -> None:
        """Add a line to the log."""
        with self._lock:
            log = [*self._body["log"], {"at": self._clock(), "line": line}]
            self._put({"log": log[-_LINES:]})

    def progress(self, done: int, total: int) -> None:
        """Say how many of Spark's tasks of the statement under way are done."""
        with self._lock:
            if self._body["progress"] != {"tasks": total, "done": done}:
                self._put({"progress": {"tasks": total, "done": done}})

    def closed(self, state: str) -> dict[str, Any]:
        """Return the document of the ended run."""
        with self._lock:
            self._body = {**self._body, "state": state, "ended": self._clock()}
            return self._body

    def _put(self, part: dict[str, Any]) -> None:
        self._body = {**self._body, **part}
        self._store.put_document(DocumentPut("run", self._run, self._body))
