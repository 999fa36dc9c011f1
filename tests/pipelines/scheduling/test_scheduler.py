"""Schedules: each due run is queued once, whichever process does it, and missed times are made up for by one run."""

import pytest

from headgate.control.kernel.ports import DocumentPut
from headgate.control.pipelines.runs import EndRun, StartRun
from headgate.control.resources.attributes import STATE
from headgate.facts.changes import AttributesSet, PrincipalRemoved, RelationsSet, ResourceDeleted, RunAsSet
from headgate.facts.ids import ResourceId
from headgate.pipelines.scheduling.scheduler import FOLLOWED, Scheduler
from tests.fakes.small_organization import ADMIN, DELAYS, DELAYS_RELATIONS, LOAD, PEOPLE, STRANGER, THINGS
from tests.fakes.store import FakeStore
from tests.pipelines.fake_worker import Clock, change, defined, opened, queued, row, runs

HOUR = 3600.0
NOON = 1_800_000_000.0
"""A full hour."""


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON - 60)


def scheduled(clock: Clock, *, of: ResourceId = DELAYS, **schedule: str) -> tuple:
    organization = opened(clock)
    organization.store.put_document(defined(of, schedule=schedule))
    return organization, Scheduler(organization.control, organization.store)


class TestACronSchedule:
    def test_a_cron_schedule_queues_one_run_when_it_is_due(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")

        scheduler.tick()
        assert runs(organization) == []
        clock.now = NOON
        scheduler.tick()
        scheduler.tick()

        (found,) = runs(organization)
        assert (found.pipeline, found.trigger, found.due, found.actor) == (DELAYS, "schedule", NOON, None)

    def test_two_schedulers_queue_one_run_for_one_due_time(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        other = Scheduler(organization.control, organization.store)

        clock.now = NOON + 1
        scheduler.tick()
        other.tick()

        assert len(runs(organization)) == 1

    def test_a_schedule_queues_no_run_while_its_last_one_waits(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")

        for clock.now in (NOON, NOON + HOUR, NOON + 2 * HOUR):
            scheduler.tick()

        assert [each.due for each in runs(organization)] == [NOON]

    def test_missed_times_of_a_schedule_are_made_up_by_one_run(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        queued(organization, "first", pipeline=LOAD)
        clock.now += 30
        scheduler.tick()

        clock.now = NOON + 5 * HOUR + 10
        Scheduler(organization.control, organization.store).tick()

        assert [each.due for each in runs(organization) if each.trigger == "schedule"] == [NOON + 5 * HOUR]

    def test_missed_times_before_a_change_of_the_pipeline_are_not_made_up(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        queued(organization, "first", pipeline=LOAD)
        clock.now += 30
        scheduler.tick()
        clock.now = NOON + 2 * HOUR + 5
        change(organization, RunAsSet(DELAYS, ADMIN), at=clock.now)
        clock.now += 10

        Scheduler(organization.control, organization.store).tick()

        assert [each for each in runs(organization) if each.trigger == "schedule"] == []

    def test_an_unchanged_schedule_continues_when_the_definition_changes(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        scheduler.tick()
        clock.now = NOON + 1
        change(organization, RelationsSet(DELAYS, DELAYS_RELATIONS))

        scheduler.tick()

        assert len(runs(organization)) == 1

    def test_a_changed_schedule_replaces_the_old_one(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 0 1 1 *")
        scheduler.tick()
        organization.store.put_document(defined(DELAYS, schedule={"cron": "30 * * * *"}))
        change(organization, RunAsSet(DELAYS, ADMIN))
        scheduler.tick()

        clock.now = NOON + HOUR / 2
        scheduler.tick()

        assert [each.due for each in runs(organization)] == [NOON + HOUR / 2]

    def test_a_changed_schedule_is_followed_after_the_log_loses_entries(self, clock: Clock) -> None:
        store = FakeStore()
        store.write(*PEOPLE, *THINGS)
        organization = opened(clock, store)
        relations = organization.control.snapshot.resources[DELAYS].relations
        store.put_document(defined(DELAYS, schedule={"cron": "0 * * * *"}))
        change(organization, RelationsSet(DELAYS, relations))
        scheduler = Scheduler(organization.control, store)

        store.log.pop()
        store.put_document(defined(DELAYS, schedule={"cron": "30 * * * *"}))
        change(organization, RelationsSet(DELAYS, relations), at=clock.now + 1)
        clock.now = NOON
        scheduler.tick()
        assert runs(organization) == []

        clock.now = NOON + HOUR / 2
        scheduler.tick()
        assert len(runs(organization)) == 1

    @pytest.mark.parametrize("state", ["inactive", "paused"])
    def test_a_schedule_of_an_inactive_or_paused_pipeline_queues_no_run(self, clock: Clock, state: str) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        change(organization, AttributesSet(DELAYS, {STATE: (state,)}))
        for clock.now in (NOON, NOON + HOUR):
            scheduler.tick()
        assert runs(organization) == []

        change(organization, AttributesSet(DELAYS, {STATE: ("active",)}))
        scheduler.tick()
        clock.now = NOON + 2 * HOUR
        scheduler.tick()

        assert [each.due for each in runs(organization)] == [NOON + 2 * HOUR]

    def test_a_schedule_ends_when_its_pipeline_is_deleted(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        change(organization, ResourceDeleted(DELAYS))
        clock.now = NOON

        scheduler.tick()

        assert runs(organization) == []

    def test_a_schedule_with_a_deleted_run_as_queues_one_run_with_the_reason(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        change(organization, PrincipalRemoved(ADMIN))

        for clock.now in (NOON, NOON + HOUR):
            scheduler.tick()

        (found,) = runs(organization)
        assert "was removed or has expired" in found.why

    def test_a_due_run_is_queued_after_an_error_of_the_store(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        clock.now = NOON
        organization.store.before_append = _away

        with pytest.raises(ConnectionError):
            scheduler.tick()
        scheduler.tick()

        assert len(runs(organization)) == 1

    def test_an_invalid_schedule_does_not_block_other_schedules(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, schedule={"cron": "never"}))
        organization.store.put_document(defined(LOAD, schedule={"cron": "0 * * * *"}))
        scheduler = Scheduler(organization.control, organization.store)
        clock.now = NOON

        scheduler.tick()

        assert [each.pipeline for each in runs(organization)] == [LOAD]


class TestAScheduleAfterAnotherPipeline:
    def test_a_successful_run_queues_one_run_of_the_following_pipeline(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        for name, state in (("one", "failed"), ("two", "succeeded")):
            _run(organization, name, state)
            scheduler.tick()
            scheduler.tick()

        found = [each for each in runs(organization) if each.pipeline == DELAYS]
        assert [each.trigger for each in found] == ["after"]

    def test_a_past_run_queues_one_following_run_with_two_schedulers(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        organization.store.put_document(
            DocumentPut(FOLLOWED, "followed", {"revision": organization.control.snapshot.revision, "at": clock.now})
        )
        _run(organization, "one", "succeeded")

        for each in (Scheduler(organization.control, organization.store), scheduler):
            each.tick()

        assert len([each for each in runs(organization) if each.pipeline == DELAYS]) == 1

    def test_a_pipeline_does_not_follow_one_that_its_run_as_may_not_see(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        change(organization, RunAsSet(DELAYS, STRANGER))
        _run(organization, "one", "succeeded")

        scheduler.tick()

        assert [each for each in runs(organization) if each.pipeline == DELAYS] == []

    def test_schedules_that_form_a_cycle_queue_no_run(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        organization.store.put_document(defined(LOAD, schedule={"after": "delays"}))
        change(organization, RelationsSet(LOAD, organization.control.snapshot.resources[LOAD].relations))
        _run(organization, "one", "succeeded")

        scheduler.tick()

        assert [each for each in runs(organization) if each.pipeline == DELAYS] == []


def _run(organization: object, name: str, state: str) -> None:
    control = organization.control  # pyright: ignore[reportAttributeAccessIssue]
    queued(organization, name, pipeline=LOAD)  # pyright: ignore[reportArgumentType]
    control.execute(StartRun(row(organization, name), "w", control.now + 20, "secret"), None)  # pyright: ignore[reportArgumentType]
    control.execute(EndRun(row(organization, name), state), None)  # pyright: ignore[reportArgumentType]


def _away() -> None:
    raise ConnectionError
