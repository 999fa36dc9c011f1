"""What an attempt says of itself while it runs: lines of the log, metrics and progress, written now and then."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from headgate.control.kernel.ports import Store
from headgate.facts.ids import RunId

PROGRESS, METRICS = "progress", "metrics"
ROWS_LINE: Final = "rows."
"""Before the name of a table: the metric that counts the rows written into it."""
_HELD: Final = 10_000
"""So many lines wait at most for a store that takes none; what comes then is counted and left out."""


class Journal:
    """Takes what an attempt says, from any thread; whoever looks after the attempt has it written."""

    def __init__(self, store: Store, run: RunId, figures: Mapping[str, Any], clock: Callable[[], float]) -> None:
        """`figures` are what the attempts before it left."""
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
        """Keep a figure of the run."""
        with self._lock:
            self._figures[METRICS][name] = float(value)

    def progress(self, figures: Mapping[str, int]) -> None:
        """Keep how far Spark is."""
        with self._lock:
            self._figures[PROGRESS] = dict(figures)

    def note(self, name: str, value: int) -> None:
        """Keep what the next attempt has to know."""
        with self._lock:
            self._figures[name] = value

    @property
    def figures(self) -> dict[str, Any]:
        """All figures as they are now, with the rows written so far among the progress."""
        with self._lock:
            metrics = dict(self._figures[METRICS])
            rows = sum(value for name, value in metrics.items() if name.startswith(ROWS_LINE))
            return {**self._figures, METRICS: metrics, PROGRESS: {**self._figures[PROGRESS], "rows": int(rows)}}

    def write(self) -> None:
        """Write the lines that have come since. Raises `StoreError`; then they are written the next time."""
        with self._lock:
            lines, lost = list(self._lines), self._lost
        if not lines:
            return
        more = [f"{lost:,} lines were left out"] if lost else []
        self._store.append_log_lines(self._run, self._clock(), [*lines, *more])
        with self._lock:
            del self._lines[: len(lines)]
            self._lost -= lost

    def close(self) -> None:
        """Take no more lines."""
        with self._lock:
            self._closed = True
