"""Runs: queued by who may, begun and ended by the deployment, cancelled by who may."""

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
from tests.control.organization_harness import ANN, BEN, EVE, World, nekt, onehouse, resource, role, y42
from tests.fakes.small_organization import ADMIN, DELAYS, FLIGHTS, MEMBER, NOW, OTHER, OWNER, RAW, assigned, controlled

RUN = RunId("run-1")
LEASE = NOW + 20


@dataclass
class Queue:
    """A world with runs: `admin`'s pipelines, which `member` may trigger."""

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
    def test_is_written_with_who_asked_and_why_they_might(self) -> None:
        queue = Queue()

        queue.control.execute(QueueRun(RUN, DELAYS, "backfill", NOW + 1, "1", "9"), Caller(MEMBER))

        assert queue.row == RunRow(RUN, DELAYS, "queued", "backfill", MEMBER, NOW, NOW + 1, since="1", until="9")
        assert [each.action for each in queue.store.log[-1].grounds] == ["query.trigger"]
        assert RUN not in queue.control.snapshot.runs

    def test_takes_a_new_id(self) -> None:
        queue = Queue()
        queue.queued()

        with pytest.raises(RunConflictError):
            queue.control.execute(QueueRun(RUN, DELAYS), None)
        queue.refused(QueueRun(RunId(FLIGHTS), DELAYS), AlreadyExistsError, "taken")

    def test_is_by_a_known_trigger(self) -> None:
        Queue().refused(QueueRun(RUN, DELAYS, "magic"), InvalidError, "not by `magic`")

    def test_is_refused_where_the_pipeline_is_not_active(self) -> None:
        queue = Queue()
        queue.control.execute(ChangeState(DELAYS, "deactivate"), None)

        queue.refused(QueueRun(RUN, DELAYS), InvalidError, "inactive")

    def test_of_a_pipeline_whose_run_as_principal_is_gone_says_so(self) -> None:
        assert "somebody who may edit it has to save it" in Queue((PrincipalRemoved(ADMIN),)).queued().why

    def test_of_several_is_one_write(self) -> None:
        queue = Queue()
        runs = tuple(QueueRun(RunId(f"run-{number}"), DELAYS, "backfill") for number in range(3))

        queue.control.execute(Batch(runs, "run.backfill"), None)

        assert len(queue.store.runs(RunFilter(pipeline=DELAYS))) == 3
        assert queue.store.head().revision == 2


class TestBeginning:
    def test_makes_the_identity_and_keeps_only_a_hash_of_its_secret(self) -> None:
        queue = Queue()

        row = queue.begun()

        assert (row.state, row.worker, row.lease, row.attempt, row.started) == ("running", "w", LEASE, 1, NOW)
        assert queue.store.log[-1].changes == (RunStarted(RUN, DELAYS, ADMIN),)
        document = queue.store.document(SECRET, RUN)
        assert document
        assert document["principal"] == ADMIN
        assert "secret" not in document.values()

    def test_is_won_by_one_worker(self) -> None:
        queue = Queue()
        waiting = queue.queued()
        queue.do(start(waiting))

        with pytest.raises(RunConflictError):
            queue.control.execute(start(waiting, "other", at_once=2), None)
        assert (queue.row.worker, queue.row.attempt) == ("w", 1)

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ((PrincipalRemoved(ADMIN),), "somebody who may edit it has to save it"),
            ((PrincipalExpires(ADMIN, NOW - 1),), "somebody who may edit it has to save it"),
            ((RunStarted(RunId("other"), DELAYS, ADMIN),), "is running"),
        ],
    )
    def test_waits(self, given: tuple[Change, ...], match: str) -> None:
        queue = Queue(given)
        queue.refused(start(queue.queued()), RunNotReadyError, match)

    def test_waits_until_it_is_due_and_the_pipeline_is_active(self) -> None:
        queue = Queue()
        row = queue.queued()
        queue.refused(start(replace(row, due=NOW + 1)), RunNotReadyError, "not due")
        queue.control.execute(ChangeState(DELAYS, "deactivate"), None)
        queue.refused(start(row), RunNotReadyError, "inactive")

    def test_goes_beside_another_where_the_definition_lets_it(self) -> None:
        queue = Queue((RunStarted(RunId("other"), DELAYS, ADMIN),))

        assert queue.do(start(queue.queued(), at_once=2)).state == "running"

    def test_is_refused_with_the_reason_where_the_run_as_principal_has_lost_a_right(self) -> None:
        queue = Queue((RoleRevoked(ADMIN, "admin", ResourceId("organization")),))

        row = queue.do(start(queue.queued()))

        assert (row.state, row.ended, row.attempt) == ("refused", NOW, 0)
        assert "its run-as principal may not do `table.select` on `lake.raw.flights`" in row.why
        assert RUN not in queue.control.snapshot.runs
        assert queue.store.document(SECRET, RUN) is None

    def test_ends_with_the_pipeline(self) -> None:
        queue = Queue()
        row = queue.queued()
        queue.control.execute(DeletePipeline(DELAYS), None)

        assert queue.do(start(row)).state == "cancelled"

    def test_is_for_what_is_queued(self) -> None:
        queue = Queue()
        queue.refused(start(queue.begun()), InvalidError, "does not begin")


class TestEnding:
    @pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "refused"])
    def test_takes_the_identity_and_its_secret(self, state: str) -> None:
        queue = Queue()

        row = queue.do(EndRun(queue.begun(), state, "why", {"metrics": {"rows.a": 1.0}}))

        assert (row.state, row.why, row.ended, row.lease) == (state, "why", NOW, None)
        assert row.figures == {"metrics": {"rows.a": 1.0}}
        assert queue.store.log[-1].changes == (RunEnded(RUN, state),)
        assert queue.store.document(SECRET, RUN) is None
        queue.refused(EndRun(row, "succeeded"), InvalidError, "ended already")

    def test_can_be_for_another_attempt_later(self) -> None:
        queue = Queue()

        row = queue.do(EndRun(queue.begun(), "queued", "again", due=NOW + 10))

        assert (row.state, row.due, row.attempt, row.ended, row.started) == ("queued", NOW + 10, 1, None, NOW)
        assert queue.store.log[-1].changes == (RunEnded(RUN, "failed"),)
        assert queue.store.document(SECRET, RUN) is None

    def test_of_what_is_queued_changes_no_facts(self) -> None:
        queue = Queue()

        assert queue.do(EndRun(queue.queued(), "cancelled", "enough")).state == "cancelled"
        assert queue.store.log[-1].changes == ()

    def test_is_in_a_known_state(self) -> None:
        queue = Queue()
        queue.refused(EndRun(queue.begun(), "bored"), InvalidError, "not as `bored`")

    def test_by_a_worker_that_has_lost_the_run_is_not_written(self) -> None:
        queue = Queue()
        stale = queue.begun()
        queue.do(CancelRun(stale))

        with pytest.raises(RunConflictError):
            queue.control.execute(EndRun(stale, "succeeded"), None)
        assert queue.row.state == "cancelled"


class TestTakingOver:
    def test_ends_the_attempt_and_queues_the_run_again(self) -> None:
        queue = Queue()
        begun = queue.begun()
        queue.refused(ReclaimRun(begun), InvalidError, "is not lost")

        row = queue.do(ReclaimRun(replace(begun, lease=NOW - 1)))

        assert (row.state, row.attempt, row.due) == ("queued", 1, NOW)
        assert queue.store.log[-1].changes == (RunEnded(RUN, "lost"),)
        assert queue.store.document(SECRET, RUN) is None
        assert queue.do(start(row, "other")).attempt == 2

    def test_is_won_by_one(self) -> None:
        queue = Queue()
        lost = replace(queue.begun(), lease=NOW - 1)
        queue.do(ReclaimRun(lost))

        with pytest.raises(RunConflictError):
            queue.control.execute(ReclaimRun(lost), None)


def test_an_identity_that_no_run_of_the_queue_has_can_be_ended() -> None:
    queue = Queue((RunStarted(RUN, DELAYS, ADMIN),))

    queue.control.execute(EndOrphanedRun(RUN), None)

    assert RUN not in queue.control.snapshot.runs


@pytest.mark.parametrize(
    "command",
    [start, lambda row: EndRun(row, "failed"), ReclaimRun, lambda row: EndOrphanedRun(row.run)],
    ids=["start", "end", "take over", "end a stray"],
)
def test_nobody_but_the_deployment_begins_or_ends_a_run(command: Callable[[RunRow], Command]) -> None:
    queue = Queue()
    row = queue.queued()

    with pytest.raises(InvalidError, match="by the deployment"):
        queue.control.execute(command(row), Caller(OWNER))


class TestCancelling:
    @pytest.mark.parametrize("running", [True, False])
    def test_ends_a_run_whether_it_has_begun_or_not(self, running: bool) -> None:  # noqa: FBT001
        queue = Queue()
        row = queue.begun() if running else queue.queued()

        queue.control.execute(CancelRun(row), Caller(MEMBER))

        assert (queue.row.state, queue.row.ended) == ("cancelled", NOW)
        assert RUN not in queue.control.snapshot.runs
        queue.refused(CancelRun(queue.row), InvalidError, "was cancelled")

    def test_of_a_hidden_pipelines_run_is_as_of_a_missing_one(self) -> None:
        queue = Queue()
        row = queue.queued()

        with pytest.raises(NotFoundError):
            queue.control.execute(CancelRun(row), Caller(OTHER))
        with pytest.raises(NotFoundError):
            queue.control.execute(CancelRun(replace(row, pipeline=ResourceId("gone"))), Caller(OWNER))


class TestModels:
    """Who may run and cancel, where the models say it (MODELS 1.2, 2.2, 3.2)."""

    def cancels(self, world: World, run: str) -> CancelRun:
        row = world.store.run(RunId(run))
        assert row
        return CancelRun(row)

    def test_nekt_lets_editors_run_and_so_cancel(self) -> None:
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

    def test_onehouse_lets_users_of_a_job_run_and_cancel_it(self) -> None:
        world = onehouse()
        world.do(resource("job", "job", "project", cluster="cluster"))
        world.do(role(ANN, "user", "job"), role(BEN, "viewer", "job"))
        ask = QueueRun(RUN, ResourceId("job"))

        world.refuse(ask, PermissionDeniedError, "trigger", by=BEN)
        world.do(ask, by=ANN)
        world.refuse(self.cancels(world, RUN), PermissionDeniedError, "cancel", by=BEN)
        world.do(self.cancels(world, RUN), by=ANN)

    def test_onehouse_lets_who_may_pause_and_resume_a_capture_end_and_begin_its_runs(self) -> None:
        world = onehouse()
        world.do(resource("capture", "stream_capture", "project", cluster="cluster", target="one"))
        world.do(role(ANN, "editor", "capture"), role(BEN, "viewer", "capture"))
        ask = QueueRun(RUN, ResourceId("capture"))

        world.refuse(ask, PermissionDeniedError, "resume", by=BEN)
        world.do(ask, by=ANN)
        world.refuse(self.cancels(world, RUN), PermissionDeniedError, "pause", by=BEN)
        world.do(self.cancels(world, RUN), by=ANN)

    def test_y42_lets_editors_run_what_they_could_make_a_run_of(self) -> None:
        world = y42()
        world.do(resource("model", "query", "module"), resource("job", "job", "model"))
        world.do(role(ANN, "editor", "model"), role(BEN, "viewer", "model"))

        for number, pipeline in enumerate(("job", "model")):
            ask = QueueRun(RunId(f"r{number}"), ResourceId(pipeline))
            world.refuse(ask, PermissionDeniedError, by=BEN)
            world.do(ask, by=ANN)
            world.refuse(self.cancels(world, f"r{number}"), PermissionDeniedError, by=BEN)
            world.do(self.cancels(world, f"r{number}"), by=ANN)

    def test_the_deployment_needs_no_right(self) -> None:
        world = onehouse()
        world.do(resource("job", "job", "project", cluster="cluster"))

        world.do(QueueRun(RUN, ResourceId("job"), "schedule"))

        row = world.store.run(RUN)
        assert row
        assert (row.trigger, row.actor) == ("schedule", None)
        world.do(CancelRun(row))
