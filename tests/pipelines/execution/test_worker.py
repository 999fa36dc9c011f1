"""Workers execute due runs once, and each run ends in its true state whatever happens to the worker."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from headgate.control.kernel.ports import LogEntry, StoreError
from headgate.control.kernel.run_queue import CANCELLED, FAILED, QUEUED, REFUSED, RUNNING, SUCCEEDED, RunUpdate
from headgate.control.organizations.organization import Organization
from headgate.control.organizations.suspension import ResumeOrganization, SuspendOrganization
from headgate.control.pipelines.runs import CancelRun, RunNotReadyError, StartRun
from headgate.control.resources.attributes import STATE
from headgate.facts.caller import Caller
from headgate.facts.changes import AttributesSet, PrincipalRemoved, RoleRevoked, RunStarted
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.execution import claims
from headgate.pipelines.execution.attempt import FAILURES, INTERRUPTIONS, MOST_INTERRUPTIONS, Attempt
from headgate.pipelines.execution.worker import SETTLING, Worker, WorkerSettings
from tests.fakes.small_organization import ADMIN, DELAYS, FLIGHTS, LOAD, PEOPLE, ROOT, THINGS
from tests.fakes.store import FakeStore
from tests.pipelines.fake_worker import (
    QUICK,
    Clock,
    Work,
    change,
    defined,
    lasting,
    log,
    opened,
    queued,
    raising,
    row,
    runs,
    until,
    worker,
)

NOW = 1_800_000_000.0


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@contextmanager
def working(organization: Organization, work: Work, settings: WorkerSettings = QUICK, **more: Any) -> Iterator[Worker]:
    """Run a worker until the block ends."""
    started = worker(organization, work, settings, **more)
    started.start()
    try:
        yield started
    finally:
        started.stop()


def gone(after: int = 0) -> Iterator[LogEntry]:
    raise StoreError(f"the store is gone {after}")


def ended(organization: Organization, name: str, *states: str) -> None:
    """Wait until a run is in one of these states."""
    until(lambda: row(organization, name).state in states)


class RefusedByGuardError(Exception):
    """A refusal in the form in which PySpark raises it."""

    def getSqlState(self) -> str:  # noqa: N802 (PySpark's name)
        return "42501"


class TestARun:
    def test_a_run_succeeds_with_its_log_metrics_and_progress(self, clock: Clock) -> None:
        organization = opened(clock)

        def perform(attempt: Attempt) -> None:
            attempt.journal.say("hello")
            attempt.journal.metric("rows.lake.raw.planes", 3)
            attempt.journal.progress({"tasks": 2, "tasks_done": 1})

        queued(organization, "r")
        with working(organization, Work({"r": [perform]})):
            ended(organization, "r", SUCCEEDED)

        found = row(organization, "r")
        assert (found.attempt, found.ended, found.lease) == (1, NOW, None)
        assert found.figures["metrics"] == {"rows.lake.raw.planes": 3.0}
        assert found.figures["progress"] == {"tasks": 2, "tasks_done": 1, "rows": 3}
        assert log(organization, "r") == "hello"

    def test_a_run_has_an_identity_and_a_secret_only_while_it_is_active(self, clock: Clock) -> None:
        organization, known = opened(clock), list[bool]()

        def perform(attempt: Attempt) -> None:
            known.append(attempt.row.run in organization.control.snapshot.runs)
            known.append(organization.store.document("run_secret", attempt.row.run) is not None)

        queued(organization, "r")
        with working(organization, Work({"r": [perform]})):
            ended(organization, "r", SUCCEEDED)

        assert known == [True, True]
        assert not organization.control.snapshot.runs
        assert organization.store.document("run_secret", "r") is None

    def test_a_failed_run_reports_its_reason_without_a_jvm_stack_trace(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        with working(organization, Work({"r": [raising(ValueError("no such file\n\nJVM stacktrace:\nat x.y"))]})):
            ended(organization, "r", FAILED)

        assert row(organization, "r").why == log(organization, "r") == "no such file"

    def test_a_run_that_the_guard_refuses_is_not_retried(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, retries={"at_most": 3}))
        queued(organization, "r")
        with working(organization, Work({"r": [raising(RefusedByGuardError("you may not"))]})):
            ended(organization, "r", REFUSED)

        assert row(organization, "r").why == "you may not"

    def test_a_second_run_of_a_pipeline_waits_while_the_first_is_running(self, clock: Clock) -> None:
        organization, work = opened(clock), Work({"a": [lasting]})
        queued(organization, "a", "b")
        queued(organization, "c", pipeline=LOAD)
        with working(organization, work):
            ended(organization, "c", SUCCEEDED)
            until(lambda: "running" in row(organization, "b").why)

        assert [run for run, _ in work.done] == ["a", "c"]

    def test_a_waiting_run_starts_soon_after_its_pipeline_allows_more_runs_at_once(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A changed definition is no new revision, so that the worker tries such a pipeline again after some time."""
        monkeypatch.setattr(claims, "AGAIN", 0.1)
        organization = opened(clock)
        queued(organization, "a", "b")
        with working(organization, Work({"a": [lasting], "b": [lasting]})) as one:
            until(lambda: "running" in row(organization, "b").why)
            organization.store.put_document(defined(DELAYS, at_once=2))

            until(lambda: one.under_way == 2)

    def test_a_run_waits_for_a_slot_and_for_capacity_on_its_cluster(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, at_once=9))
        queued(organization, "a", "b", "c")
        work = Work({"a": [lasting], "b": [lasting], "c": [lasting]})
        with working(organization, work, room=lambda _: 2) as one:
            until(lambda: one.under_way == 2)
            until(lambda: "as many running runs as may run at once" in row(organization, "c").why)
        with working(organization, work, replace(QUICK, slots=1)) as one:
            until(lambda: one.under_way == 1)
            time.sleep(0.1)
            assert one.under_way == 1

    def test_a_run_on_a_missing_cluster_waits_and_reports_it(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, cluster="big"))
        queued(organization, "r")
        with working(organization, Work(), room=lambda name: 4 * (name == "embedded")):
            until(lambda: row(organization, "r").why.startswith("the operator has not configured the cluster `big`; "))

    def test_a_run_waits_until_spark_is_ready(self, clock: Clock) -> None:
        organization, ready = opened(clock), threading.Event()
        queued(organization, "r")
        with working(organization, Work(), ready=ready.is_set):
            time.sleep(0.1)
            assert row(organization, "r").state == QUEUED
            ready.set()
            ended(organization, "r", SUCCEEDED)

    def test_a_run_with_an_invalid_definition_fails(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(replace(defined(DELAYS), body={"kind": "unheard"}))
        queued(organization, "r")
        with working(organization, Work()):
            ended(organization, "r", FAILED)

        assert "unheard" in row(organization, "r").why


class TestRetries:
    def test_retries_wait_twice_as_long_each_time_up_to_their_limit(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, retries={"at_most": 2, "wait": 10}))
        queued(organization, "r")
        work = Work({"r": [raising(ValueError("again"))] * 3})
        with working(organization, work):
            for due in (NOW + 10, NOW + 30):
                until(lambda due=due: (row(organization, "r").state, row(organization, "r").due) == (QUEUED, due))
                clock.now = due
            ended(organization, "r", FAILED)

        assert work.done == [("r", 1), ("r", 2), ("r", 3)]
        assert row(organization, "r").figures[FAILURES] == 3

    def test_an_interruption_of_spark_does_not_count_as_a_retry(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        work = Work({"r": [raising(ConnectionError("gone"))] * 2})
        with working(organization, work):
            for attempt in (1, 2):
                until(lambda attempt=attempt: row(organization, "r").figures.get(INTERRUPTIONS) == attempt)
                clock.now += 60
            ended(organization, "r", SUCCEEDED)

    def test_a_run_fails_after_too_many_interruptions_of_spark(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        found = row(organization, "r")
        organization.store.put_run(RunUpdate(replace(found, figures={INTERRUPTIONS: MOST_INTERRUPTIONS}), found))
        with working(organization, Work({"r": [raising(ConnectionError("gone"))]})):
            ended(organization, "r", FAILED)

        assert "Spark was not available in 21 attempts" in row(organization, "r").why


class TestAnAttemptThatHasToEnd:
    def test_an_attempt_ends_when_its_run_is_cancelled(self, clock: Clock) -> None:
        organization, work = opened(clock), Work({"r": [lasting]})
        queued(organization, "r")
        with working(organization, work) as one:
            ended(organization, "r", RUNNING)
            organization.control.execute(CancelRun(row(organization, "r")), Caller(ADMIN))
            until(lambda: one.under_way == 0)

        assert row(organization, "r").state == CANCELLED

    def test_an_attempt_fails_at_its_timeout(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, timeout=0.1))
        queued(organization, "r")
        with working(organization, Work({"r": [lasting]})):
            ended(organization, "r", FAILED)

        assert "exceeded its `timeout` of 0.1 seconds" in row(organization, "r").why

    def test_an_attempt_past_its_timeout_is_interrupted(self, clock: Clock) -> None:
        organization, interrupted = opened(clock), threading.Event()
        organization.store.put_document(defined(DELAYS, timeout=0.1))

        def perform(attempt: Attempt) -> None:
            attempt.set_interrupt(interrupted.set)
            interrupted.wait(10)
            raise RuntimeError("interrupted")

        queued(organization, "r")
        with working(organization, Work({"r": [perform]})):
            ended(organization, "r", FAILED)

        assert interrupted.is_set()

    def test_an_attempt_that_ignores_its_timeout_is_abandoned(self, clock: Clock) -> None:
        organization, over = opened(clock), threading.Event()
        organization.store.put_document(defined(DELAYS, timeout=0.1))

        def perform(attempt: Attempt) -> None:
            over.wait(20)
            attempt.journal.say("too late")

        queued(organization, "r")
        with working(organization, Work({"r": [perform]})):
            ended(organization, "r", FAILED)
            over.set()

        assert "too late" not in log(organization, "r")
        assert row(organization, "r").state == FAILED

    def test_a_run_is_queued_again_when_its_worker_stops(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        with working(organization, Work({"r": [lasting]})):
            ended(organization, "r", RUNNING)
        assert (row(organization, "r").state, row(organization, "r").due) == (QUEUED, NOW)

        with working(organization, Work()):
            ended(organization, "r", SUCCEEDED)
        assert row(organization, "r").attempt == 2


class TestAWorkerThatIsLost:
    def test_a_run_of_a_lost_worker_is_queued_again_when_its_lease_expires(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        organization.control.execute(StartRun(row(organization, "r"), "lost", NOW + 20, "secret"), None)
        with working(organization, Work()):
            time.sleep(0.1)
            assert row(organization, "r").worker == "lost"
            clock.now += 21
            until(lambda: row(organization, "r").state == QUEUED)
            assert not organization.control.snapshot.runs
            clock.now += SETTLING
            ended(organization, "r", SUCCEEDED)

        assert row(organization, "r").attempt == 2

    def test_an_attempt_ends_with_its_lease_while_the_log_cannot_be_read(self, clock: Clock) -> None:
        store = FakeStore()
        store.write(*PEOPLE, *THINGS)
        store.put_document(defined(DELAYS))
        organization = opened(clock, store)
        queued(organization, "r")
        with working(organization, Work({"r": [lasting]}), replace(QUICK, lease=0.5)) as started:
            ended(organization, "r", RUNNING)
            entries, store.entries = store.entries, gone

            until(lambda: started.under_way == 0)

            assert row(organization, "r").state == RUNNING
            store.entries = entries

    def test_a_worker_that_lost_its_lease_writes_nothing_when_it_returns(self, clock: Clock) -> None:
        organization, back = opened(clock), threading.Event()

        def zombie(attempt: Attempt) -> None:
            back.wait(20)
            attempt.journal.say("I was here")

        queued(organization, "r")
        asleep = replace(QUICK, slots=1, renewed=1000.0, grace=1000.0, name="lost")
        with working(organization, Work({"r": [zombie]}), asleep) as lost:
            ended(organization, "r", RUNNING)
            with working(organization, Work({"r": [lasting]})) as other:
                clock.now += QUICK.lease + 1
                until(lambda: row(organization, "r").state == QUEUED)
                clock.now += SETTLING
                until(lambda: other.under_way == 1)
                back.set()
                until(lambda: lost.under_way == 0)
                assert row(organization, "r").state == RUNNING
                assert row(organization, "r").worker == other.settings.name

        assert "I was here" not in log(organization, "r")


class TestRights:
    def test_a_run_that_misses_a_privilege_at_its_start_is_refused_with_the_reason(self, clock: Clock) -> None:
        organization = opened(clock)
        change(organization, RoleRevoked(ADMIN, "admin", ROOT))
        queued(organization, "r")
        with working(organization, Work()):
            ended(organization, "r", REFUSED)

        assert FLIGHTS in row(organization, "r").why or "flights" in row(organization, "r").why

    def test_a_run_that_loses_a_privilege_ends_as_refused_with_the_reason(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        with working(organization, Work({"r": [lasting]})) as one:
            ended(organization, "r", RUNNING)
            change(organization, RoleRevoked(ADMIN, "admin", ROOT))
            ended(organization, "r", REFUSED)
            until(lambda: one.under_way == 0)

        assert "the run-as principal of the pipeline may not do" in row(organization, "r").why

    def test_a_run_with_a_deleted_run_as_principal_waits(self, clock: Clock) -> None:
        organization = opened(clock)
        change(organization, PrincipalRemoved(ADMIN))
        queued(organization, "r")
        with working(organization, Work()):
            time.sleep(0.1)
            assert row(organization, "r").state == QUEUED
            assert "was removed or has expired" in row(organization, "r").why

    def test_a_run_of_a_paused_pipeline_waits(self, clock: Clock) -> None:
        organization = opened(clock)
        queued(organization, "r")
        change(organization, AttributesSet(DELAYS, {STATE: ("paused",)}))
        with working(organization, Work()):
            until(lambda: "paused" in row(organization, "r").why)


class TestAStoreThatIsAway:
    def test_the_result_of_an_attempt_is_stored_when_the_store_is_available_again(self, clock: Clock) -> None:
        organization, work = opened(clock), Work()

        def perform(_: Attempt) -> None:
            organization.store.before_append = _away  # pyright: ignore[reportAttributeAccessIssue]

        work.by_run = {"r": [perform]}
        queued(organization, "r")
        with working(organization, work):
            ended(organization, "r", SUCCEEDED)

        assert work.done == [("r", 1)]

    def test_a_worker_survives_errors_of_the_store(self, clock: Clock) -> None:
        organization, asked = opened(clock), list[int]()

        def refresh() -> None:
            asked.append(1)
            if len(asked) < 4:
                raise StoreError("away")

        queued(organization, "r")
        started = Worker(refresh, lambda: [organization], Work(), QUICK)
        started.start()
        until(lambda: len(asked) > 5)
        ended(organization, "r", SUCCEEDED)
        started.stop()


def _away() -> None:
    raise StoreError("the store is away")


def test_a_waiting_pipeline_does_not_block_runs_of_other_pipelines(clock: Clock) -> None:
    organization = opened(clock)
    queued(organization, *(f"d{number}" for number in range(5)))
    queued(organization, "l", pipeline=LOAD)
    with working(organization, Work({"d0": [lasting]})):
        ended(organization, "l", SUCCEEDED)

    assert len(runs(organization, SUCCEEDED)) == 1


def test_endless_runs_of_one_organization_leave_a_slot_to_each_other_organization(clock: Clock) -> None:
    acme, beta = opened(clock), replace(opened(clock), id=ResourceId("beta"))
    queued(acme, "d")
    queued(acme, "l", pipeline=LOAD)
    queued(beta, "b")
    two = Worker(lambda: None, lambda: [acme, beta], Work({"d": [lasting], "l": [lasting]}), replace(QUICK, slots=2))
    two.start()
    try:
        ended(beta, "b", SUCCEEDED)
        assert len(runs(acme, RUNNING)) == 1
    finally:
        two.stop()


def test_a_run_left_by_a_version_without_a_queue_does_not_block_its_pipeline(clock: Clock) -> None:
    organization = opened(clock)
    change(organization, RunStarted(RunId("left"), DELAYS, ADMIN))
    queued(organization, "r")
    with working(organization, Work()):
        ended(organization, "r", SUCCEEDED)

    assert not organization.control.snapshot.runs


class TestASuspendedOrganization:
    def test_a_queued_run_starts_after_its_suspended_organization_is_resumed(self, clock: Clock) -> None:
        organization, work = opened(clock), Work()
        queued(organization, "r")
        organization.control.execute(SuspendOrganization(ROOT), None)

        with working(organization, work):
            time.sleep(20 * QUICK.round)
            assert (row(organization, "r").state, work.done) == (QUEUED, [])
            organization.control.execute(ResumeOrganization(ROOT), None)
            ended(organization, "r", SUCCEEDED)

    def test_a_run_cannot_start_after_its_organization_is_suspended(self, clock: Clock) -> None:
        """The worker read the facts before the suspension; the command is decided on the newest facts."""
        organization = opened(clock)
        queued(organization, "r")
        organization.control.execute(SuspendOrganization(ROOT), None)

        with pytest.raises(RunNotReadyError, match="the organization is suspended"):
            organization.control.execute(StartRun(row(organization, "r"), "w", clock() + 30, "s"), None)

    def test_a_running_attempt_of_a_suspended_organization_ends_as_refused(self, clock: Clock) -> None:
        organization, work = opened(clock), Work({"r": [lasting]})
        queued(organization, "r")

        with working(organization, work):
            ended(organization, "r", RUNNING)
            organization.control.execute(SuspendOrganization(ROOT), None)
            ended(organization, "r", REFUSED)

        assert not organization.control.snapshot.runs
