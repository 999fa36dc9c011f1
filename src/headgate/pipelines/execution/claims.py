"""Claims of due runs by a worker: `StartRun` decides whether a run may begin; one that cannot yet waits, with a reason."""

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
"""The time in seconds until a run that could not begin is tried again."""


@dataclass(slots=True)
class _Waiting:
    """Why no run of a pipeline could begin at a revision, and until when no run of it is tried again."""

    revision: int
    until: float
    why: str


class Claims:
    """Begins attempts of runs for one worker."""

    def __init__(
        self, worker: str, lease: float, room: Callable[[str], int], lacking: Callable[[Organization, str], str]
    ) -> None:
        """`lease` is in seconds; `room` returns how many runs a cluster may have, `lacking` why it cannot take any yet."""
        self._worker = worker
        self._lease = lease
        self._room = room
        self._lacking = lacking
        self._tried = dict[RunId, float]()
        """The runs that could not begin, each with the time until which it is not tried again."""
        self._waiting = dict[tuple[ResourceId, ResourceId], _Waiting]()
        """The pipelines whose runs could not begin, by organization and pipeline."""

    @property
    def waiting_pipelines(self) -> int:
        """The number of pipelines whose runs recently could not begin. These runs are still due, before those of others."""
        return len(self._waiting)

    def count_tried_runs(self) -> int:
        """Return the number of runs that recently could not begin. They are still due, before other runs."""
        now = time.monotonic()
        self._tried = {run: until for run, until in self._tried.items() if until > now}
        return len(self._tried)

    def begin(self, organization: Organization, row: RunRow, running: Mapping[str, int]) -> Attempt | None:
        """Begin an attempt of a run and return it, or None. `running` counts the runs under way on each cluster.

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
        """Whether a recent try shows that the run cannot begin yet: its own, or one of another run of its pipeline."""
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
            # The run can never begin: its definition is invalid, or the command was refused for good.
            control.execute(EndRun(row, FAILED, str(error)), None)
            return None
        if put.row.state != RUNNING or definition is None:
            return None
        return Attempt(organization, put.row, definition, format_run_secret(row.run, secret))

    def _choose_cluster(
        self, organization: Organization, row: RunRow, definition: PipelineDefinition | None, running: Mapping[str, int]
    ) -> str:
        """Return the cluster for the run. Raises `RunNotReadyError` if it is unknown, full, or not ready."""
        if definition is None:
            return ""
        try:
            cluster = cluster_of(organization.control.snapshot, row.pipeline, definition.cluster)
        except NotFoundError as error:
            raise RunNotReadyError(str(error)) from None
        room = self._room(cluster)
        if not room:
            raise RunNotReadyError(
                f"the operator has not configured the cluster `{cluster}`; name another `cluster` in the definition"
            )
        if running.get(cluster, 0) >= room:
            raise RunNotReadyError(
                f"the cluster `{cluster}` has as many running runs as may run at once ({room}); the run begins when one of "
                "them has ended"
            )
        if lacking := self._lacking(organization, cluster):
            raise RunNotReadyError(lacking)
        return cluster

    def _wait(self, row: RunRow) -> None:
        now = time.monotonic()
        self._tried = {run: until for run, until in self._tried.items() if until > now} | {row.run: now + AGAIN}


def _say_why(organization: Organization, row: RunRow, why: str) -> None:
    """Store why a run waits, for users. If another worker has changed the run meanwhile, that worker stores the reason."""
    if why != row.why:
        with suppress(RunConflictError):
            organization.store.put_run(RunUpdate(replace(row, why=why), row))


def _definition(organization: Organization, row: RunRow) -> PipelineDefinition | None:
    """Return the pipeline's present definition; None if it was deleted. Raises `ValueError` for an invalid definition."""
    if row.pipeline not in organization.control.snapshot.resources:
        return None
    document = organization.store.document("pipeline", row.pipeline)
    if document is None:
        raise NotFoundError(f"the pipeline `{row.pipeline}` has no definition; save a definition for it")
    return parse_definition(document)
