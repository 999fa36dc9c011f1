"""One attempt of a run in this process: its state, how it is asked to stop, and the outcome for the run."""

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
"""Figures of a run beside metrics and progress: the failed attempts, and the attempts that an outage of Spark ended."""
MOST_INTERRUPTIONS: Final = 20
_LONGEST_WAIT: Final = 60.0
"""The longest wait in seconds before an attempt that an outage of Spark ended is retried."""


class StopReason(Enum):
    """Why an attempt has to stop before it is done."""

    CANCELLED = "the run was cancelled"
    LOST = "the worker lost its lease of the run"
    TIMEOUT = "the attempt exceeded its timeout"
    ENDING = "the worker was shut down"
    REFUSED = "the run-as principal lost a required privilege"


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The outcome for the run: its next state, the reason, the time of a retry, and counters for the next attempt."""

    state: str
    why: str = ""
    due: float | None = None
    counted: Mapping[str, int] = field(default_factory=dict[str, int])


class Attempt:
    """One attempt. Any thread may ask it to stop; its work may poll for that, wait for it, or be interrupted."""

    def __init__(self, organization: Organization, row: RunRow, definition: PipelineDefinition, token: str) -> None:
        """`row` is the run as written when this attempt began, `token` the secret of its run identity."""
        self.organization = organization
        self.row = row
        self.definition = definition
        self.token = token
        self.journal = Journal(organization.store, row.run, row.figures, lambda: organization.control.now)
        self.began = time.monotonic()
        self.stopped_at: float | None = None
        self.refusal = ""
        """Which privilege was lost, if that is why the attempt was asked to stop."""
        self._stopped: StopReason | None = None
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._over = False
        self._interrupt: Callable[[], None] = lambda: None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the attempt was asked to stop; None if it was not."""
        return self._stopped

    @property
    def may_be_followed(self) -> bool:
        """Whether another attempt of the pipeline may be under way by now."""
        return self._over or self._stopped is StopReason.LOST

    def stop(self, why: StopReason) -> None:
        """Ask the attempt to stop. The first reason counts, but a lost lease overrides every other reason."""
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
        """Ask the attempt to stop because a required privilege was lost."""
        self.refusal = self.refusal or why
        self.stop(StopReason.REFUSED)

    def set_interrupt(self, interrupt: Callable[[], None]) -> None:
        """Set the function that is called repeatedly from the request to stop until the end: it also stops work begun later."""
        self._interrupt = interrupt

    def wait(self, seconds: float) -> bool:
        """Wait this number of seconds, or until the attempt is asked to stop; return whether it was asked."""
        return self._stopping.wait(seconds)

    def mark_ended(self) -> None:
        """Record that no work of the attempt is under way any more."""
        self._ended.set()

    def close_once(self) -> bool:
        """Return whether this is the first call, so that the outcome is processed only once."""
        with self._lock:
            first, self._over = not self._over, True
        return first

    def _interrupt_on(self) -> None:
        while not self._ended.is_set():
            try:
                self._interrupt()
            except Exception:
                log.exception("the run `%s` could not be interrupted; the interrupt is retried", self.row.run)
            self._ended.wait(_INTERRUPTED_EVERY)


_INTERRUPTED_EVERY: Final = 1.0


def new_secret() -> str:
    """Return a secret for the run identity of one attempt."""
    return secrets.token_urlsafe(32)


def outcome_of(attempt: Attempt, failure: Failure | None, now: float) -> AttemptOutcome:
    """Return the outcome for the run of an attempt that ended by itself, or because it was asked to stop."""
    figures, retries = attempt.row.figures, attempt.definition.retries
    if attempt.stop_reason is StopReason.ENDING:
        # Also if its work has returned: it may have been given up halfway. Committed steps are not repeated.
        return AttemptOutcome(QUEUED, StopReason.ENDING.value, now)
    if attempt.stop_reason is StopReason.REFUSED:
        return AttemptOutcome(REFUSED, attempt.refusal)
    if failure is None:
        return AttemptOutcome(SUCCEEDED)
    if attempt.stop_reason is StopReason.TIMEOUT:
        why = (
            f"the attempt exceeded its `timeout` of {attempt.definition.timeout:g} seconds; set a longer `timeout` in the "
            "definition, or let a run process less data"
        )
        return _build_failed(why, retries, figures, now)
    if failure.refused:
        return AttemptOutcome(REFUSED, failure.words)
    return _away(failure.words, figures, now) if failure.away else _build_failed(failure.words, retries, figures, now)


def _build_failed(words: str, retries: Retries, figures: Mapping[str, Any], now: float) -> AttemptOutcome:
    failures = int(figures.get(FAILURES, 0)) + 1
    if failures > retries.at_most:
        return AttemptOutcome(FAILED, words, None, {FAILURES: failures})
    return AttemptOutcome(QUEUED, words, now + retries.wait * 2 ** (failures - 1), {FAILURES: failures})


def _away(words: str, figures: Mapping[str, Any], now: float) -> AttemptOutcome:
    """Return the outcome of an attempt that an outage of Spark ended: a retry, not counted as a failure, up to a limit."""
    interruptions = int(figures.get(INTERRUPTIONS, 0)) + 1
    counted = {INTERRUPTIONS: interruptions}
    if interruptions > MOST_INTERRUPTIONS:
        return AttemptOutcome(
            FAILED,
            f"Spark was not available in {interruptions} attempts, and the run is not retried any more; retry it when Spark is "
            f"available; last error: {words}",
            None,
            counted,
        )
    why = f"Spark was not available, and the run is retried: {words}"
    return AttemptOutcome(QUEUED, why, now + min(2.0**interruptions, _LONGEST_WAIT), counted)
