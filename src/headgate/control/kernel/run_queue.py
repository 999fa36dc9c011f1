"""The queue of runs: what is kept of each run outside the log, and what a store is asked of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.facts.ids import PrincipalId, ResourceId, RunId

QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED, REFUSED = STATES = (
    "queued",
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "refused",
)
"""States of a run. Of the last four it does not change any more."""

ENDED_STATES = (SUCCEEDED, FAILED, CANCELLED, REFUSED)

TRIGGERS = ("manual", "schedule", "after", "backfill")
"""What a run can be begun by."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, which keeps its id over its attempts. Times are seconds since the epoch."""

    run: RunId
    pipeline: ResourceId
    state: str
    trigger: str
    actor: PrincipalId | None
    """Who asked for it; None for a schedule."""
    queued: float
    due: float
    """It does not begin before."""
    started: float | None = None
    ended: float | None = None
    attempt: int = 0
    """How many attempts were begun."""
    worker: str = ""
    """Which one executes it, or did last."""
    lease: float | None = None
    """Until when the worker is believed to."""
    cluster: str = ""
    why: str = ""
    """Why it waits, failed or was refused."""
    since: str | None = None
    until: str | None = None
    """The range of a backfill: values of the cursor, `since` included and `until` not."""
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`progress` of the attempt under way, `metrics` of what it has done."""


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A run as it is from now on. `expected` is as it was: state, attempt and worker must be so still; None: it is new."""

    row: RunRow
    expected: RunRow | None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted; None wants all. Runs that are due or lost come in the order of their time, the others newest first."""

    pipeline: ResourceId | None = None
    states: Sequence[str] | None = None
    due_before: float | None = None
    """Those that were due at this time."""
    of_each: int | None = None
    """So many of each pipeline at most, of those that are due: the first ones."""
    lease_before: float | None = None
    """Those whose lease ended before this time."""
    since: float | None = None
    """Those that were queued at this time or later."""
    before: tuple[float, RunId] | None = None
    """Those that come after this one (when it was queued, and its id), newest first."""


@dataclass(frozen=True, slots=True)
class RunLogLine:
    """A line of a run's log. Numbers grow; the first is 1."""

    number: int
    at: float
    text: str
