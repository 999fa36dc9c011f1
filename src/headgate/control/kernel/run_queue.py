"""Run queue: the rows of runs outside the log, and the filters that a store supports."""

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
"""States of a run. The last four are final."""

ENDED_STATES = (SUCCEEDED, FAILED, CANCELLED, REFUSED)

TRIGGERS = ("manual", "schedule", "after", "backfill")
"""The triggers of a run."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run; all its attempts have the same run id. Times are seconds since the epoch."""

    run: RunId
    pipeline: ResourceId
    state: str
    trigger: str
    actor: PrincipalId | None
    """The principal that requested the run; None for a schedule."""
    queued: float
    due: float
    """The earliest time at which it may begin."""
    started: float | None = None
    ended: float | None = None
    attempt: int = 0
    """The number of attempts that have begun."""
    worker: str = ""
    """The worker that executes it, or executed it last."""
    lease: float | None = None
    """The end of the worker's lease: until then the worker counts as alive."""
    cluster: str = ""
    why: str = ""
    """The reason why it waits, failed or was refused."""
    since: str | None = None
    until: str | None = None
    """The range of a backfill: values of the cursor, `since` included and `until` not."""
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`progress` of the attempt under way, `metrics` of what it has done."""


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A write of a run. `expected` is the run as read: state, attempt and worker must be unchanged; None for a new run."""

    row: RunRow
    expected: RunRow | None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs; None selects all. Due or lost runs are in the order of their time, others newest first."""

    pipeline: ResourceId | None = None
    states: Sequence[str] | None = None
    due_before: float | None = None
    """Runs that were due at this time."""
    of_each: int | None = None
    """The maximum number of due runs of each pipeline, those due first."""
    lease_before: float | None = None
    """Runs whose lease ended before this time."""
    since: float | None = None
    """Runs that were queued at this time or later."""
    before: tuple[float, RunId] | None = None
    """Runs after this one (the time when it was queued, and its id) in the order newest first."""


@dataclass(frozen=True, slots=True)
class RunLogLine:
    """A line of a run's log. Numbers increase from 1."""

    number: int
    at: float
    text: str
