"""One attempt of a run in this process: what it is, how it is told to end, and what follows from how it ended."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from headgate.control.kernel.run_queue import FAILED, QUEUED, REFUSED, SUCCEEDED, RunRow
from headgate.control.organizations.organization import Organization
from headgate.pipelines.definitions.definition import PipelineDefinition, Retries
from headgate.pipelines.errors import Failure
from headgate.pipelines.execution.run_log import Journal

log = logging.getLogger(__name__)

FAILURES, INTERRUPTIONS = "failures", "interruptions"
"""What the figures of a run keep beside metrics and progress: how many attempts failed, and how many Spark left alone."""
MOST_INTERRUPTIONS: Final = 20
_LONGEST_WAIT: Final = 60.0
"""Seconds at most before an attempt that Spark left alone is made again."""


class StopReason(Enum):
    """Why an attempt has to end before it is done."""

    CANCELLED = "it was cancelled"
    LOST = "its lease was lost"
    TIMEOUT = "it took too long"
    ENDING = "the worker was told to end"
    REFUSED = "its run-as principal lost a right"


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What becomes of the run: its next state, why, when it is tried again, and what its next attempt has to know."""

    state: str
    why: str = ""
    due: float | None = None
    counted: Mapping[str, int] = field(default_factory=dict[str, int])


class Attempt:
    """Told to end from any thread; what it does may look at that, wait for it, and be told of it."""

    def __init__(self, organization: Organization, row: RunRow, definition: PipelineDefinition, token: str) -> None:
        """`row` is the run as this attempt began, `token` the secret of its identity."""
        self.organization = organization
        self.row = row
        self.definition = definition
        self.token = token
        self.journal = Journal(organization.store, row.run, row.figures, lambda: organization.control.now)
        self.began = time.monotonic()
        self.stopped_at: float | None = None
        self.refusal = ""
        """Which right was lost, where that is why it was told to end."""
        self._stopped: StopReason | None = None
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._over = False
        self._interrupt: Callable[[], None] = lambda: None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why it was told to end; None if it was not."""
        return self._stopped

    @property
    def may_be_followed(self) -> bool:
        """Whether another attempt of its pipeline may be under way by now."""
        return self._over or self._stopped is StopReason.LOST

    def stop(self, why: StopReason) -> None:
        """Tell it to end; the first reason counts, but that it has lost its lease comes before all others."""
        with self._lock:
            first = self._stopped is None
            if first or why is StopReason.LOST:
                self._stopped = why
            if not first:
                return
            self.stopped_at = time.monotonic()
        self._stopping.set()
        threading.Thread(target=self._interrupt_on, name=f"stop {self.row.run}", daemon=True).start()

    def refuse(self, why: str) -> None:
        """Tell it to end because of a right that was lost."""
        self.refusal = self.refusal or why
        self.stop(StopReason.REFUSED)

    def set_interrupt(self, interrupt: Callable[[], None]) -> None:
        """Have this called while it is to end and has not: what is begun afterwards is to end too."""
        self._interrupt = interrupt

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds, or until it is told to end: then, and later, return True."""
        return self._stopping.wait(seconds)

    def mark_ended(self) -> None:
        """Say that nothing of it is under way any more."""
        self._ended.set()

    def close_once(self) -> bool:
        """Return whether this is the first call: what is done with how it ended, is done once."""
        with self._lock:
            first, self._over = not self._over, True
        return first

    def _interrupt_on(self) -> None:
        while not self._ended.is_set():
            try:
                self._interrupt()
            except Exception:
                log.exception("the run `%s` could not be interrupted; it is tried again", self.row.run)
            self._ended.wait(_INTERRUPTED_EVERY)


_INTERRUPTED_EVERY: Final = 1.0


def new_secret() -> str:
    """Return a secret for the identity of one attempt."""
    return secrets.token_urlsafe(32)


def outcome_of(attempt: Attempt, failure: Failure | None, now: float) -> AttemptOutcome:
    """Return what becomes of the run of an attempt that ended by itself, or because it was told to."""
    figures, retries = attempt.row.figures, attempt.definition.retries
    if attempt.stop_reason is StopReason.ENDING:
        # Also where it has returned: what it was doing may have been given up. What was done is not done again.
        return AttemptOutcome(QUEUED, StopReason.ENDING.value, now)
    if attempt.stop_reason is StopReason.REFUSED:
        return AttemptOutcome(REFUSED, attempt.refusal)
    if failure is None:
        return AttemptOutcome(SUCCEEDED)
    if attempt.stop_reason is StopReason.TIMEOUT:
        return _build_failed(f"it took longer than {attempt.definition.timeout:g} seconds", retries, figures, now)
    if failure.refused:
        return AttemptOutcome(REFUSED, failure.words)
    return _away(failure.words, figures, now) if failure.away else _build_failed(failure.words, retries, figures, now)


def _build_failed(words: str, retries: Retries, figures: Mapping[str, Any], now: float) -> AttemptOutcome:
    failures = int(figures.get(FAILURES, 0)) + 1
    if failures > retries.at_most:
        return AttemptOutcome(FAILED, words, None, {FAILURES: failures})
    return AttemptOutcome(QUEUED, words, now + retries.wait * 2 ** (failures - 1), {FAILURES: failures})


def _away(words: str, figures: Mapping[str, Any], now: float) -> AttemptOutcome:
    """What Spark's end has ended does not count as a failure of the pipeline: a bounded number of times."""
    interruptions = int(figures.get(INTERRUPTIONS, 0)) + 1
    counted = {INTERRUPTIONS: interruptions}
    if interruptions > MOST_INTERRUPTIONS:
        return AttemptOutcome(
            FAILED, f"Spark was away {MOST_INTERRUPTIONS} times; the last it said: {words}", None, counted
        )
    return AttemptOutcome(QUEUED, f"Spark was away: {words}", now + min(2.0**interruptions, _LONGEST_WAIT), counted)
