"""Schedules: what comes round is queued once, whoever looks after it, and made up for once."""

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
"""A whole hour."""


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON - 60)


def scheduled(clock: Clock, *, of: ResourceId = DELAYS, **schedule: str) -> tuple:
    organization = opened(clock)
    organization.store.put_document(defined(of, schedule=schedule))
    return organization, Scheduler(organization.control, organization.store)


class TestACronSchedule:
    def test_queues_a_run_when_it_comes_round_and_not_before(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")

        scheduler.tick()
        assert runs(organization) == []
        clock.now = NOON
        scheduler.tick()
        scheduler.tick()

        (found,) = runs(organization)
        assert (found.pipeline, found.trigger, found.due, found.actor) == (DELAYS, "schedule", NOON, None)

    def test_queues_one_run_whoever_looks_after_it(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        other = Scheduler(organization.control, organization.store)

        clock.now = NOON + 1
        scheduler.tick()
        other.tick()

        assert len(runs(organization)) == 1

    def test_queues_none_while_one_by_it_waits(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")

        for clock.now in (NOON, NOON + HOUR, NOON + 2 * HOUR):
            scheduler.tick()

        assert [each.due for each in runs(organization)] == [NOON]

    def test_makes_up_for_what_nobody_looked_after_once(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        queued(organization, "first", pipeline=LOAD)
        clock.now += 30
        scheduler.tick()

        clock.now = NOON + 5 * HOUR + 10
        Scheduler(organization.control, organization.store).tick()

        assert [each.due for each in runs(organization) if each.trigger == "schedule"] == [NOON + 5 * HOUR]

    def test_does_not_make_up_for_what_was_before_a_change(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        queued(organization, "first", pipeline=LOAD)
        clock.now += 30
        scheduler.tick()
        clock.now = NOON + 2 * HOUR + 5
        change(organization, RunAsSet(DELAYS, ADMIN), at=clock.now)
        clock.now += 10

        Scheduler(organization.control, organization.store).tick()

        assert [each for each in runs(organization) if each.trigger == "schedule"] == []

    def test_goes_on_where_it_is_when_the_definition_changes_and_the_schedule_does_not(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        scheduler.tick()
        clock.now = NOON + 1
        change(organization, RelationsSet(DELAYS, DELAYS_RELATIONS))

        scheduler.tick()

        assert len(runs(organization)) == 1

    def test_is_followed_as_it_changes(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 0 1 1 *")
        scheduler.tick()
        organization.store.put_document(defined(DELAYS, schedule={"cron": "30 * * * *"}))
        change(organization, RunAsSet(DELAYS, ADMIN))
        scheduler.tick()

        clock.now = NOON + HOUR / 2
        scheduler.tick()

        assert [each.due for each in runs(organization)] == [NOON + HOUR / 2]

    def test_a_schedule_is_followed_as_it_is_after_the_log_has_lost_entries(self, clock: Clock) -> None:
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
    def test_stops_while_the_pipeline_takes_no_runs(self, clock: Clock, state: str) -> None:
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

    def test_ends_with_its_pipeline(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        change(organization, ResourceDeleted(DELAYS))
        clock.now = NOON

        scheduler.tick()

        assert runs(organization) == []

    def test_of_a_pipeline_whose_run_as_is_gone_queues_one_that_says_so(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        change(organization, PrincipalRemoved(ADMIN))

        for clock.now in (NOON, NOON + HOUR):
            scheduler.tick()

        (found,) = runs(organization)
        assert "is gone" in found.why

    def test_loses_nothing_where_the_store_does_not_answer(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, cron="0 * * * *")
        clock.now = NOON
        organization.store.before_append = _away

        with pytest.raises(ConnectionError):
            scheduler.tick()
        scheduler.tick()

        assert len(runs(organization)) == 1

    def test_that_cannot_be_read_keeps_none_from_its_turn(self, clock: Clock) -> None:
        organization = opened(clock)
        organization.store.put_document(defined(DELAYS, schedule={"cron": "never"}))
        organization.store.put_document(defined(LOAD, schedule={"cron": "0 * * * *"}))
        scheduler = Scheduler(organization.control, organization.store)
        clock.now = NOON

        scheduler.tick()

        assert [each.pipeline for each in runs(organization)] == [LOAD]


class TestAScheduleAfterAnotherPipeline:
    def test_queues_a_run_for_each_that_succeeds(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        for name, state in (("one", "failed"), ("two", "succeeded")):
            _run(organization, name, state)
            scheduler.tick()
            scheduler.tick()

        found = [each for each in runs(organization) if each.pipeline == DELAYS]
        assert [each.trigger for each in found] == ["after"]

    def test_queues_one_whoever_follows_and_though_nobody_did_for_a_while(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        organization.store.put_document(
            DocumentPut(FOLLOWED, "followed", {"revision": organization.control.snapshot.revision, "at": clock.now})
        )
        _run(organization, "one", "succeeded")

        for each in (Scheduler(organization.control, organization.store), scheduler):
            each.tick()

        assert len([each for each in runs(organization) if each.pipeline == DELAYS]) == 1

    def test_hears_nothing_of_one_that_its_run_as_may_not_see(self, clock: Clock) -> None:
        organization, scheduler = scheduled(clock, after="load")
        change(organization, RunAsSet(DELAYS, STRANGER))
        _run(organization, "one", "succeeded")

        scheduler.tick()

        assert [each for each in runs(organization) if each.pipeline == DELAYS] == []

    def test_that_comes_round_to_itself_begins_nothing(self, clock: Clock) -> None:
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
