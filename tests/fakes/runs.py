"""Runs started and ended as a worker does it, for tests without a worker or in addition to one."""

from dataclasses import replace

from headgate.control.authentication.authenticator import format_run_secret
from headgate.control.control import Control
from headgate.control.kernel.ports import Store
from headgate.control.kernel.run_queue import QUEUED, RUNNING, RunRow, RunUpdate
from headgate.control.pipelines.runs import EndRun, StartRun
from headgate.facts.ids import ResourceId, RunId

_SECRET = "secret"  # noqa: S105 (a public value of the tests)
_LEASE = 3600.0


def there(store: Store, run: RunId) -> RunRow:
    """Return a run that must exist."""
    row = store.run(run)
    assert row is not None, run
    return row


def begin(control: Control, store: Store, run: RunId, pipeline: ResourceId, cluster: str = "") -> str:
    """Start an attempt, the first or a later one; return the secret that its session presents."""
    before, now = store.run(run), control.now
    # Due far in the future, so that no worker takes the run first.
    waiting = replace(before or RunRow(run, pipeline, QUEUED, "manual", None, now, now), state=QUEUED, due=now + 1e9)
    store.put_run(RunUpdate(waiting, before))
    control.execute(StartRun(replace(waiting, due=now), "test", now + _LEASE, _SECRET, 100, cluster), None)
    found = there(store, run)
    assert found.state == RUNNING, found
    return format_run_secret(run, _SECRET)


def end(control: Control, store: Store, run: RunId, state: str = "succeeded", why: str = "") -> None:
    """End the running attempt."""
    control.execute(EndRun(there(store, run), state, why), None)
