"""Beginning attempts of runs that are due: what may begin is decided by `StartRun`, what cannot yet waits and says why."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from headgate.control.authentication.authenticator import format_run_secret
from headgate.control.kernel.errors import CommandError, NotFoundError
from headgate.control.kernel.ports import RunConflictError
from headgate.control.kernel.run_queue import FAILED, RUNNING, RunRow, RunUpdate
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.clusters import cluster_of
from headgate.control.pipelines.runs import EndRun, PipelineWaitingError, RunNotReadyError, StartRun
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definitions.definition import PipelineDefinition
from headgate.pipelines.execution.attempt import Attempt, new_secret
from headgate.pipelines.kinds import parse_definition

AGAIN: Final = 2.0
"""Seconds until a run that could not begin is tried again."""


@dataclass(slots=True)
class _Waiting:
    """Why no run of a pipeline could begin at a revision, and until when none is tried again."""

    revision: int
    until: float
    why: str


class Claims:
    """Begins attempts for one worker."""

    def __init__(
        self, worker: str, lease: float, room: Callable[[str], int], lacking: Callable[[Organization, str], str]
    ) -> None:
        """`lease` is in seconds; `room` is how many runs a cluster takes, `lacking` why it cannot take any yet."""
        self._worker = worker
        self._lease = lease
        self._room = room
        self._lacking = lacking
        self._tried = dict[RunId, float]()
        """Until when runs that could not begin are left alone."""
        self._waiting = dict[tuple[ResourceId, ResourceId], _Waiting]()
        """The pipelines of which no run could begin, by organization and pipeline."""

    @property
    def waiting_pipelines(self) -> int:
        """How many pipelines were tried lately and could not begin a run: their runs are due all the same, before others."""
        return len(self._waiting)

    def count_tried_runs(self) -> int:
        """Return how many runs were tried lately and could not begin: they are due all the same, before others."""
        now = time.monotonic()
        self._tried = {run: until for run, until in self._tried.items() if until > now}
        return len(self._tried)

    def begin(self, organization: Organization, row: RunRow, running: Mapping[str, int]) -> Attempt | None:
        """Return the attempt that begins, or None. `running` counts what is under way on each cluster.

        Raises `StoreError`.
        """
        if self._is_left_alone(organization, row):
            return None
        try:
            attempt = self._begin_run(organization, row, running)
        except PipelineWaitingError as error:
            self._wait_with_others(organization, row, str(error))
            return None
        except RunNotReadyError as error:
            self._wait(row)
            _say_why(organization, row, str(error))
            return None
        except RunConflictError:
            return None
        self._tried.pop(row.run, None)
        return attempt

    def _is_left_alone(self, organization: Organization, row: RunRow) -> bool:
        """Return whether a recent try shows that the run cannot begin: its own, or that of another run of its pipeline."""
        now = time.monotonic()
        if self._tried.get(row.run, 0.0) > now:
            return True
        place = (organization.id, row.pipeline)
        waiting = self._waiting.get(place)
        if waiting is None:
            return False
        if waiting.until <= now or waiting.revision != organization.control.snapshot.revision:
            del self._waiting[place]
            return False
        _say_why(organization, row, waiting.why)
        return True

    def _wait_with_others(self, organization: Organization, row: RunRow, why: str) -> None:
        now, revision = time.monotonic(), organization.control.snapshot.revision
        self._waiting = {place: each for place, each in self._waiting.items() if each.until > now}
        self._waiting[organization.id, row.pipeline] = _Waiting(revision, now + AGAIN, why)
        _say_why(organization, row, why)

    def _begin_run(self, organization: Organization, row: RunRow, running: Mapping[str, int]) -> Attempt | None:
        control, secret = organization.control, new_secret()
        try:
            definition = _definition(organization, row)
            cluster = self._choose_cluster(organization, row, definition, running)
            at_once = definition.at_once if definition else 1
            start = StartRun(row, self._worker, control.now + self._lease, secret, at_once, cluster)
            (put,) = control.execute(start, None).plan.runs
        except RunNotReadyError:
            raise
        except (CommandError, ValueError) as error:
            # What it says of itself cannot be carried out, now or later.
            control.execute(EndRun(row, FAILED, str(error)), None)
            return None
        if put.row.state != RUNNING or definition is None:
            return None
        return Attempt(organization, put.row, definition, format_run_secret(row.run, secret))

    def _choose_cluster(
        self, organization: Organization, row: RunRow, definition: PipelineDefinition | None, running: Mapping[str, int]
    ) -> str:
        """Return the cluster that it begins on. Raises `RunNotReadyError` if that is none, or has no room."""
        if definition is None:
            return ""
        try:
            cluster = cluster_of(organization.control.snapshot, row.pipeline, definition.cluster)
        except NotFoundError as error:
            raise RunNotReadyError(str(error)) from None
        room = self._room(cluster)
        if not room:
            raise RunNotReadyError(f"there is no cluster `{cluster}` here")
        if running.get(cluster, 0) >= room:
            raise RunNotReadyError(f"the cluster `{cluster}` has no room: {room} of its runs may be under way at once")
        if lacking := self._lacking(organization, cluster):
            raise RunNotReadyError(lacking)
        return cluster

    def _wait(self, row: RunRow) -> None:
        now = time.monotonic()
        self._tried = {run: until for run, until in self._tried.items() if until > now} | {row.run: now + AGAIN}


def _say_why(organization: Organization, row: RunRow, why: str) -> None:
    """Keep why a run waits, for people. Another worker that had the run meanwhile says so itself."""
    if why != row.why:
        with suppress(RunConflictError):
            organization.store.put_run(RunUpdate(replace(row, why=why), row))


def _definition(organization: Organization, row: RunRow) -> PipelineDefinition | None:
    """Return what the pipeline is now; None if it is gone. Raises `ValueError` for what is no definition."""
    if row.pipeline not in organization.control.snapshot.resources:
        return None
    document = organization.store.document("pipeline", row.pipeline)
    if document is None:
        raise NotFoundError("the pipeline has no definition")
    return parse_definition(document)
