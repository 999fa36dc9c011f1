"""The log lines, metrics and progress of a running attempt, buffered and written periodically."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from headgate.control.kernel.ports import Store
from headgate.facts.ids import RunId

PROGRESS, METRICS = "progress", "metrics"
ROWS_LINE: Final = "rows."
"""The prefix, before the name of a table, of the metric that counts the rows written into it."""
_HELD: Final = 10_000
"""The maximum number of buffered lines while the store is not available; further lines are counted and dropped."""


class Journal:
    """Collects the output of an attempt from any thread; the thread that supervises the attempt writes it to the store."""

    def __init__(self, store: Store, run: RunId, figures: Mapping[str, Any], clock: Callable[[], float]) -> None:
        """`figures` are those of the earlier attempts."""
        self._store = store
        self._run = run
        self._clock = clock
        self._lock = threading.Lock()
        self._lines = list[str]()
        self._lost = 0
        self._figures = {**figures, PROGRESS: {}, METRICS: dict(figures.get(METRICS, {}))}
        self._closed = False

    def say(self, line: str) -> None:
        """Add a line to the log."""
        with self._lock:
            if self._closed:
                return
            if len(self._lines) < _HELD:
                self._lines.append(line)
            else:
                self._lost += 1

    def metric(self, name: str, value: float) -> None:
        """Record a metric of the run."""
        with self._lock:
            self._figures[METRICS][name] = float(value)

    def progress(self, figures: Mapping[str, int]) -> None:
        """Record the progress on Spark."""
        with self._lock:
            self._figures[PROGRESS] = dict(figures)

    def note(self, name: str, value: int) -> None:
        """Record a counter for the next attempt."""
        with self._lock:
            self._figures[name] = value

    @property
    def figures(self) -> dict[str, Any]:
        """All figures at present; the progress includes the rows written until now."""
        with self._lock:
            metrics = dict(self._figures[METRICS])
            rows = sum(value for name, value in metrics.items() if name.startswith(ROWS_LINE))
            return {**self._figures, METRICS: metrics, PROGRESS: {**self._figures[PROGRESS], "rows": int(rows)}}

    def write(self) -> None:
        """Write the buffered lines. Raises `StoreError`; the lines then stay buffered for the next call."""
        with self._lock:
            lines, lost = list(self._lines), self._lost
        if not lines:
            return
        more = [f"{lost:,} log lines were dropped while the store was not available"] if lost else []
        self._store.append_log_lines(self._run, self._clock(), [*lines, *more])
        with self._lock:
            del self._lines[: len(lines)]
            self._lost -= lost

    def close(self) -> None:
        """Accept no more lines."""
        with self._lock:
            self._closed = True
