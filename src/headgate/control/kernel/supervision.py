"""Supervision of background tasks: a task that fails is logged, counted, reported and restarted."""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

log = logging.getLogger(__name__)

WAITS: Final = (0.1, 1.0, 5.0, 30.0)
"""Seconds before each restart of a task that keeps failing; the last value is for all later ones."""
_STEADY_AFTER: Final = 60.0
"""Seconds after which a task that runs counts as healthy, so that its next restart is quick again."""

_NO_ROUND: Final = "read its errors in the server's log, and if there are none, restart the server"


class Heartbeat:
    """The time of a loop's last successful round: a loop may continue after errors, or hang, and no longer do its work."""

    def __init__(self, within: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`within` is the maximum time in seconds between two rounds of a healthy loop."""
        self._within = within
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        """Record that a round has succeeded."""
        self._last = self._clock()

    @property
    def seconds(self) -> float:
        """Seconds since the last round that succeeded."""
        return self._clock() - self._last

    @property
    def is_late(self) -> bool:
        """Whether no round has succeeded for longer than `within`."""
        return self.seconds > self._within


@dataclass(eq=False, slots=True)
class BackgroundState:
    """The state of one task. `endangers` is the effect on users while it does not run; empty if there is none."""

    name: str
    endangers: str
    check: Callable[[], bool] | None = None
    """Returns whether a task runs that something else supervises."""
    heartbeat: Heartbeat | None = None
    """The heartbeat of a task that works in rounds."""
    is_stopped: bool = False
    error: str = ""

    @property
    def is_running(self) -> bool:
        """Whether the task runs now, and its rounds succeed."""
        return not self.is_stopped and (self.check is None or self.check()) and not self._is_late

    @override
    def __str__(self) -> str:
        """Return one sentence for an operator."""
        if self.heartbeat is not None and self._is_late and not self.is_stopped:
            effect = f"; until one succeeds, {self.endangers}" if self.endangers else ""
            rounds = f"no round of the background task `{self.name}` has succeeded for {self.heartbeat.seconds:.0f} s"
            return f"{rounds}{effect}; {_NO_ROUND}"
        why = f" ({self.error})" if self.error else ""
        effect = f"; until it restarts, {self.endangers}" if self.endangers else ""
        return f"the background task `{self.name}` is not running{why}{effect}"

    @property
    def _is_late(self) -> bool:
        return self.heartbeat is not None and self.heartbeat.is_late


class BackgroundTasks:
    """The background tasks of one process. Safe to use from several threads."""

    def __init__(self, waits: Sequence[float] = WAITS) -> None:
        self._waits = waits
        self._lock = threading.Lock()
        self._states = list[BackgroundState]()
        self._deaths = Counter[str]()

    def start_thread(
        self, name: str, run: Callable[[], None], endangers: str, heartbeat: Heartbeat | None = None
    ) -> "BackgroundThread":
        """Start `run` in a thread, and start it again whenever it raises. `run` beats after each round that succeeds."""
        if heartbeat is not None:
            heartbeat.beat()
        state = self._add(BackgroundState(name, endangers, heartbeat=heartbeat))
        return BackgroundThread(self, state, run, self._waits)

    def start_task(self, name: str, run: Callable[[], Awaitable[None]], endangers: str) -> "BackgroundTask":
        """Start `run` in the running event loop, and start it again whenever it raises."""
        return BackgroundTask(self, self._add(BackgroundState(name, endangers)), run, self._waits)

    def add_check(self, name: str, check: Callable[[], bool], endangers: str) -> Callable[[], None]:
        """Report the state of a task that something else runs; return a function that removes it."""
        state = self._add(BackgroundState(name, endangers, check))
        return lambda: self.remove(state)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tasks."""
        return tuple(each.name for each in self._copy_states())

    def list_stopped(self) -> tuple[BackgroundState, ...]:
        """Return the tasks that do not run now."""
        return tuple(each for each in self._copy_states() if not each.is_running)

    def not_ready_reason(self) -> str | None:
        """Return which task is not running although a promise depends on it, or None."""
        return next((str(each) for each in self.list_stopped() if each.endangers), None)

    @property
    def deaths(self) -> Mapping[str, int]:
        """How often each task has failed."""
        with self._lock:
            return dict(self._deaths)

    def record_death(self, state: BackgroundState, error: BaseException) -> None:
        """Log and count that a task has failed."""
        with self._lock:
            self._deaths[state.name] += 1
            state.is_stopped, state.error = True, f"{type(error).__name__}: {error}"[:200]
        log.error("%s", state, exc_info=error)

    def record_restart(self, state: BackgroundState) -> None:
        """Record that a task runs again."""
        with self._lock:
            state.is_stopped, state.error = False, ""

    def remove(self, state: BackgroundState) -> None:
        """Remove a task that was stopped on purpose."""
        with self._lock, suppress(ValueError):
            self._states.remove(state)

    def _add(self, state: BackgroundState) -> BackgroundState:
        with self._lock:
            self._states.append(state)
            self._deaths[state.name] += 0
        return state

    def _copy_states(self) -> tuple[BackgroundState, ...]:
        with self._lock:
            return tuple(self._states)


@dataclass(slots=True)
class _Restarts:
    """Counts failures in a row, and returns how long to wait after each."""

    waits: Sequence[float]
    began: float = field(default_factory=time.monotonic)
    failed: int = 0

    def begin(self) -> None:
        self.began = time.monotonic()

    def wait(self) -> float:
        if time.monotonic() - self.began > _STEADY_AFTER:
            self.failed = 0
        seconds = self.waits[min(self.failed, len(self.waits) - 1)]
        self.failed += 1
        return seconds


class BackgroundThread:
    """A thread that is restarted when it fails. It ends when `run` returns."""

    def __init__(
        self, tasks: BackgroundTasks, state: BackgroundState, run: Callable[[], None], waits: Sequence[float]
    ) -> None:
        self._tasks = tasks
        self._state = state
        self._run = run
        self._restarts = _Restarts(waits)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name=state.name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended yet."""
        return self._thread.is_alive()

    def stop(self, seconds: float | None = None) -> None:
        """Stop restarting the task, and wait for its end. The caller must have asked `run` to return before."""
        self._stopping.set()
        self._thread.join(seconds)

    def _supervise(self) -> None:
        is_last = False
        while True:
            self._restarts.begin()
            try:
                self._run()
                break
            except BaseException as error:  # noqa: BLE001 (a task may fail by any exception)
                self._tasks.record_death(self._state, error)
            if is_last:
                break
            # A task that is stopped meanwhile runs once more: it may have work to finish.
            is_last = self._stopping.wait(self._restarts.wait())
            self._tasks.record_restart(self._state)
        self._tasks.remove(self._state)


class BackgroundTask:
    """An asyncio task that is restarted when it fails. It ends when `run` returns, or when it is stopped."""

    def __init__(
        self, tasks: BackgroundTasks, state: BackgroundState, run: Callable[[], Awaitable[None]], waits: Sequence[float]
    ) -> None:
        self._tasks = tasks
        self._state = state
        self._run = run
        self._restarts = _Restarts(waits)
        self._attempt: asyncio.Task[None] | None = None
        self._task = asyncio.create_task(self._supervise(), name=state.name)

    async def stop(self) -> None:
        """Cancel the task and wait for its end."""
        self.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def cancel(self) -> None:
        """Ask the task to end."""
        self._task.cancel()
        self._tasks.remove(self._state)

    def restart(self) -> None:
        """Cancel the current attempt, which hangs; the next one begins after the usual wait."""
        if self._attempt is not None:
            self._attempt.cancel("it hangs")

    async def _supervise(self) -> None:
        while True:
            self._restarts.begin()
            self._attempt = asyncio.ensure_future(_await_run(self._run))
            try:
                await asyncio.wait({self._attempt})
            finally:
                if not self._attempt.done():
                    self._attempt.cancel()
                    await asyncio.wait({self._attempt})
            if not self._attempt.cancelled() and self._attempt.exception() is None:
                break
            self._tasks.record_death(self._state, _death(self._attempt))
            await asyncio.sleep(self._restarts.wait())
            self._tasks.record_restart(self._state)
        self._tasks.remove(self._state)


async def _await_run(run: Callable[[], Awaitable[None]]) -> None:
    await run()


def _death(attempt: "asyncio.Task[None]") -> BaseException:
    if attempt.cancelled():
        return TimeoutError("the background task hung and was cancelled; it is restarted")
    return attempt.exception() or AssertionError(
        "internal error: the background task has succeeded, so it has no error; report it"
    )
