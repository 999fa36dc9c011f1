"""Runs: queued and cancelled by users with the privilege, begun and ended by the deployment."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.ports import RunConflictError
from headgate.control.kernel.run_queue import RunFilter, RunRow
from headgate.control.pipelines.commands import DeletePipeline
from headgate.control.pipelines.runs import (
    SECRET,
    CancelRun,
    EndOrphanedRun,
    EndRun,
    QueueRun,
    ReclaimRun,
    RunNotReadyError,
    StartRun,
)
from headgate.control.pipelines.states import ChangeState
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    PrincipalExpires,
    PrincipalRemoved,
    RoleRevoked,
    RunEnded,
    RunStarted,
)
from headgate.facts.ids import ResourceId, RunId
from tests.control.organization_harness import ANN, BEN, EVE, OrganizationHarness, nekt, onehouse, resource, role, y42
from tests.fakes.small_organization import ADMIN, DELAYS, FLIGHTS, MEMBER, NOW, OTHER, OWNER, RAW, assigned, controlled

RUN = RunId("run-1")
LEASE = NOW + 20


@dataclass
class Queue:
    """An organization with runs of `admin`'s pipelines, which `member` may trigger."""

    given: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        self.control, self.store = controlled(assigned(MEMBER, "editor", RAW), *self.given)

    def do(self, command: Command) -> RunRow:
        self.control.execute(command, None)
        return self.row

    @property
    def row(self) -> RunRow:
        found = self.store.run(RUN)
        assert found
        return found

    def queued(self, pipeline: ResourceId = DELAYS) -> RunRow:
        return self.do(QueueRun(RUN, pipeline))

    def begun(self) -> RunRow:
        return self.do(start(self.queued()))

    def refused(self, command: Command, error: type[Exception], match: str) -> None:
        head, row = self.store.head(), self.store.run(RUN)
        with pytest.raises(error, match=match):
            self.control.execute(command, None)
        assert (self.store.head(), self.store.run(RUN)) == (head, row)


def start(row: RunRow, worker: str = "w", at_once: int = 1) -> StartRun:
    return StartRun(row, worker, LEASE, "secret", at_once)


class TestQueueing:
    def test_a_queued_run_is_stored_with_its_caller_and_the_grounds(self) -> None:
        queue = Queue()

        queue.control.execute(QueueRun(RUN, DELAYS, "backfill", NOW + 1, "1", "9"), Caller(MEMBER))

        assert queue.row == RunRow(RUN, DELAYS, "queued", "backfill", MEMBER, NOW, NOW + 1, since="1", until="9")
        assert [each.action for each in queue.store.log[-1].grounds] == ["query.trigger"]
        assert RUN not in queue.control.snapshot.runs

    def test_queueing_a_run_requires_a_new_id(self) -> None:
        queue = Queue()
        queue.queued()

        with pytest.raises(RunConflictError):
            queue.control.execute(QueueRun(RUN, DELAYS), None)
        queue.refused(QueueRun(RunId(FLIGHTS), DELAYS), AlreadyExistsError, "is in use")

    def test_a_run_with_an_unknown_trigger_is_refused(self) -> None:
        Queue().refused(QueueRun(RUN, DELAYS, "magic"), InvalidError, "`magic` is not a trigger")

    def test_queueing_a_run_of_an_inactive_pipeline_is_refused(self) -> None:
        queue = Queue()
        queue.control.execute(ChangeState(DELAYS, "deactivate"), None)

        queue.refused(QueueRun(RUN, DELAYS), InvalidError, "inactive")

    def test_a_queued_run_reports_that_its_run_as_principal_was_removed(self) -> None:
        assert "a user who may edit the pipeline must save it again" in Queue((PrincipalRemoved(ADMIN),)).queued().why

    def test_a_batch_of_queued_runs_is_one_write(self) -> None:
        queue = Queue()
        runs = tuple(QueueRun(RunId(f"run-{number}"), DELAYS, "backfill") for number in range(3))

        queue.control.execute(Batch(runs, "run.backfill"), None)

        assert len(queue.store.runs(RunFilter(pipeline=DELAYS))) == 3
        assert queue.store.head().revision == 2


class TestBeginning:
    def test_a_started_run_gets_an_identity_and_only_a_hash_of_its_secret_is_stored(self) -> None:
        queue = Queue()

        row = queue.begun()

        assert (row.state, row.worker, row.lease, row.attempt, row.started) == ("running", "w", LEASE, 1, NOW)
        assert queue.store.log[-1].changes == (RunStarted(RUN, DELAYS, ADMIN),)
        document = queue.store.document(SECRET, RUN)
        assert document
        assert document["principal"] == ADMIN
        assert "secret" not in document.values()

    def test_a_run_is_started_by_one_worker_only(self) -> None:
        queue = Queue()
        waiting = queue.queued()
        queue.do(start(waiting))

        with pytest.raises(RunConflictError):
            queue.control.execute(start(waiting, "other", at_once=2), None)
        assert (queue.row.worker, queue.row.attempt) == ("w", 1)

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ((PrincipalRemoved(ADMIN),), "a user who may edit the pipeline must save it again"),
            ((PrincipalExpires(ADMIN, NOW - 1),), "a user who may edit the pipeline must save it again"),
            ((RunStarted(RunId("other"), DELAYS, ADMIN),), "as many running runs as may run"),
        ],
    )
    def test_a_run_stays_queued_while_it_has_no_valid_run_as_or_another_run_is_active(
        self, given: tuple[Change, ...], match: str
    ) -> None:
        queue = Queue(given)
        queue.refused(start(queue.queued()), RunNotReadyError, match)

    def test_a_run_stays_queued_until_it_is_due_and_its_pipeline_is_active(self) -> None:
        queue = Queue()
        row = queue.queued()
        queue.refused(start(replace(row, due=NOW + 1)), RunNotReadyError, "not due")
        queue.control.execute(ChangeState(DELAYS, "deactivate"), None)
        queue.refused(start(row), RunNotReadyError, "inactive")

    def test_a_run_starts_beside_another_if_the_definition_allows_two_at_once(self) -> None:
        queue = Queue((RunStarted(RunId("other"), DELAYS, ADMIN),))

        assert queue.do(start(queue.queued(), at_once=2)).state == "running"

    def test_a_run_is_refused_with_the_reason_if_its_run_as_principal_lost_a_right(self) -> None:
        queue = Queue((RoleRevoked(ADMIN, "admin", ResourceId("organization")),))

        row = queue.do(start(queue.queued()))

        assert (row.state, row.ended, row.attempt) == ("refused", NOW, 0)
        assert "the run-as principal of the pipeline may not do `table.select` on `lake.raw.flights`" in row.why
        assert RUN not in queue.control.snapshot.runs
        assert queue.store.document(SECRET, RUN) is None

    def test_a_run_of_a_deleted_pipeline_is_cancelled_at_its_start(self) -> None:
        queue = Queue()
        row = queue.queued()
        queue.control.execute(DeletePipeline(DELAYS), None)

        assert queue.do(start(row)).state == "cancelled"

    def test_a_running_run_cannot_be_started_again(self) -> None:
        queue = Queue()
        queue.refused(start(queue.begun()), InvalidError, "cannot begin")


class TestEnding:
    @pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "refused"])
    def test_ending_a_run_deletes_its_identity_and_its_secret(self, state: str) -> None:
        queue = Queue()

        row = queue.do(EndRun(queue.begun(), state, "why", {"metrics": {"rows.a": 1.0}}))

        assert (row.state, row.why, row.ended, row.lease) == (state, "why", NOW, None)
        assert row.figures == {"metrics": {"rows.a": 1.0}}
        assert queue.store.log[-1].changes == (RunEnded(RUN, state),)
        assert queue.store.document(SECRET, RUN) is None
        queue.refused(EndRun(row, "succeeded"), InvalidError, "ended already")

    def test_an_ended_attempt_can_be_queued_again_for_later(self) -> None:
        queue = Queue()

        row = queue.do(EndRun(queue.begun(), "queued", "again", due=NOW + 10))

        assert (row.state, row.due, row.attempt, row.ended, row.started) == ("queued", NOW + 10, 1, None, NOW)
        assert queue.store.log[-1].changes == (RunEnded(RUN, "failed"),)
        assert queue.store.document(SECRET, RUN) is None

    def test_ending_a_queued_run_changes_no_facts(self) -> None:
        queue = Queue()

        assert queue.do(EndRun(queue.queued(), "cancelled", "enough")).state == "cancelled"
        assert queue.store.log[-1].changes == ()

    def test_a_run_cannot_end_in_an_unknown_state(self) -> None:
        queue = Queue()
        queue.refused(EndRun(queue.begun(), "bored"), InvalidError, "`bored` is not an end state")

    def test_a_worker_that_lost_its_run_cannot_end_it(self) -> None:
        queue = Queue()
        stale = queue.begun()
        queue.do(CancelRun(stale))

        with pytest.raises(RunConflictError):
            queue.control.execute(EndRun(stale, "succeeded"), None)
        assert queue.row.state == "cancelled"


class TestTakingOver:
    def test_reclaiming_a_lost_run_ends_its_attempt_and_queues_it_again(self) -> None:
        queue = Queue()
        begun = queue.begun()
        queue.refused(ReclaimRun(begun), InvalidError, "cannot be taken over")

        row = queue.do(ReclaimRun(replace(begun, lease=NOW - 1)))

        assert (row.state, row.attempt, row.due) == ("queued", 1, NOW)
        assert queue.store.log[-1].changes == (RunEnded(RUN, "lost"),)
        assert queue.store.document(SECRET, RUN) is None
        assert queue.do(start(row, "other")).attempt == 2

    def test_a_lost_run_is_reclaimed_once_only(self) -> None:
        queue = Queue()
        lost = replace(queue.begun(), lease=NOW - 1)
        queue.do(ReclaimRun(lost))

        with pytest.raises(RunConflictError):
            queue.control.execute(ReclaimRun(lost), None)


def test_an_orphaned_run_can_be_ended() -> None:
    queue = Queue((RunStarted(RUN, DELAYS, ADMIN),))

    queue.control.execute(EndOrphanedRun(RUN), None)

    assert RUN not in queue.control.snapshot.runs


@pytest.mark.parametrize(
    "command",
    [start, lambda row: EndRun(row, "failed"), ReclaimRun, lambda row: EndOrphanedRun(row.run)],
    ids=["start", "end", "take over", "end a stray"],
)
def test_a_caller_cannot_start_end_or_reclaim_a_run(command: Callable[[RunRow], Command]) -> None:
    queue = Queue()
    row = queue.queued()

    with pytest.raises(InvalidError, match="Headgate starts and ends runs itself"):
        queue.control.execute(command(row), Caller(OWNER))


class TestCancelling:
    @pytest.mark.parametrize("running", [True, False])
    def test_cancelling_ends_a_queued_or_a_running_run(self, running: bool) -> None:  # noqa: FBT001
        queue = Queue()
        row = queue.begun() if running else queue.queued()

        queue.control.execute(CancelRun(row), Caller(MEMBER))

        assert (queue.row.state, queue.row.ended) == ("cancelled", NOW)
        assert RUN not in queue.control.snapshot.runs
        queue.refused(CancelRun(queue.row), InvalidError, "in the state cancelled")

    def test_a_run_of_a_hidden_pipeline_is_refused_like_one_of_a_missing_pipeline(self) -> None:
        queue = Queue()
        row = queue.queued()

        with pytest.raises(NotFoundError):
            queue.control.execute(CancelRun(row), Caller(OTHER))
        with pytest.raises(NotFoundError):
            queue.control.execute(CancelRun(replace(row, pipeline=ResourceId("gone"))), Caller(OWNER))


class TestModels:
    """The privileges to trigger and cancel, where the models state them (MODELS 1.2, 2.2, 3.2)."""

    def cancels(self, world: OrganizationHarness, run: str) -> CancelRun:
        row = world.store.run(RunId(run))
        assert row
        return CancelRun(row)

    def test_nekt_lets_editors_queue_and_cancel_runs(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))
        world.do(resource("load", "source", "organization/project", outputs="flights", output_layers="raw"))
        ask = QueueRun(RUN, ResourceId("load"))

        world.refuse(ask, PermissionDeniedError, "trigger", by=BEN)
        world.refuse(ask, NotFoundError, by=EVE)
        world.do(ask, by=ANN)
        world.refuse(self.cancels(world, RUN), PermissionDeniedError, "trigger", by=BEN)
        world.refuse(self.cancels(world, RUN), NotFoundError, by=EVE)
        world.do(self.cancels(world, RUN), by=ANN)

    def test_onehouse_lets_users_of_a_job_queue_and_cancel_its_runs(self) -> None:
        world = onehouse()
        world.do(resource("job", "job", "project", cluster="cluster"))
        world.do(role(ANN, "user", "job"), role(BEN, "viewer", "job"))
        ask = QueueRun(RUN, ResourceId("job"))

        world.refuse(ask, PermissionDeniedError, "trigger", by=BEN)
        world.do(ask, by=ANN)
        world.refuse(self.cancels(world, RUN), PermissionDeniedError, "cancel", by=BEN)
        world.do(self.cancels(world, RUN), by=ANN)

    def test_onehouse_lets_editors_of_a_stream_capture_queue_and_cancel_its_runs(self) -> None:
        world = onehouse()
        world.do(resource("capture", "stream_capture", "project", cluster="cluster", target="one"))
        world.do(role(ANN, "editor", "capture"), role(BEN, "viewer", "capture"))
        ask = QueueRun(RUN, ResourceId("capture"))

        world.refuse(ask, PermissionDeniedError, "resume", by=BEN)
        world.do(ask, by=ANN)
        world.refuse(self.cancels(world, RUN), PermissionDeniedError, "pause", by=BEN)
        world.do(self.cancels(world, RUN), by=ANN)

    def test_y42_lets_editors_queue_and_cancel_runs_of_a_query_and_of_its_job(self) -> None:
        world = y42()
        world.do(resource("model", "query", "module"), resource("job", "job", "model"))
        world.do(role(ANN, "editor", "model"), role(BEN, "viewer", "model"))

        for number, pipeline in enumerate(("job", "model")):
            ask = QueueRun(RunId(f"r{number}"), ResourceId(pipeline))
            world.refuse(ask, PermissionDeniedError, by=BEN)
            world.do(ask, by=ANN)
            world.refuse(self.cancels(world, f"r{number}"), PermissionDeniedError, by=BEN)
            world.do(self.cancels(world, f"r{number}"), by=ANN)

    def test_the_deployment_queues_and_cancels_runs_without_a_right(self) -> None:
        world = onehouse()
        world.do(resource("job", "job", "project", cluster="cluster"))

        world.do(QueueRun(RUN, ResourceId("job"), "schedule"))

        row = world.store.run(RUN)
        assert row
        assert (row.trigger, row.actor) == ("schedule", None)
        world.do(CancelRun(row))
