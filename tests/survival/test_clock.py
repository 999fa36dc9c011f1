"""The clock is set back.

Nothing that ended becomes valid again, dates are compared as dates, and the log stays intact.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.app.deployment import Deployment, open_deployment_over
from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.resources.commands import CreateResource
from headgate.decision.types import Question
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.store import SqlStore, open_stores
from tests.app.deployment_harness import OrganizationClient
from tests.survival.replica import settings_of

START = 1_000_000.0
DAY = 86_400.0


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def deployment(clock: Clock) -> Iterator[Deployment]:
    with tempfile.TemporaryDirectory() as folder:
        opened = open_deployment_over(settings_of(Path(folder), None), open_stores(Path(folder)), clock=clock)
        yield opened
        opened.close()


@pytest.fixture
def place(deployment: Deployment) -> OrganizationClient:
    found = OrganizationClient(httpx.Client(trust_env=False, timeout=30), deployment.home, "", {})
    lake = next(each.id for each in found.control.snapshot.resources.values() if each.type == "lake")
    found.control.execute(CreateResource(ResourceId("raw"), "database", lake, "raw"), None)
    return found


def may(place: OrganizationClient, who: PrincipalId) -> bool:
    """Return whether a principal may describe the database."""
    caller = place.caller("vic")
    assert caller.principal == who
    return place.control.ask(Question(caller, "database.describe", ResourceId("raw"))).allowed


def test_a_revoked_role_stays_revoked_when_the_clock_goes_back(place: OrganizationClient, clock: Clock) -> None:
    vic = place.add("vic")
    place.control.execute(AssignRole(vic, "viewer", ResourceId("raw")), None)
    clock.now += DAY
    place.control.execute(RevokeRole(vic, "viewer", ResourceId("raw")), None)

    for back in (DAY, 2 * DAY, START):
        clock.now = START + DAY - back
        assert not may(place, vic)


def test_an_assignment_with_dates_is_valid_between_them_only(place: OrganizationClient, clock: Clock) -> None:
    vic = place.add("vic")
    given = AssignRole(vic, "viewer", ResourceId("raw"), ends=START + 2 * DAY, starts=START + DAY)
    place.control.execute(given, None)

    for days, allowed in ((3, False), (1.5, True), (0.5, False), (2, False), (1, True), (-9, False)):
        clock.now = START + days * DAY
        assert may(place, vic) is allowed


def test_the_log_is_complete_after_jumps_of_the_clock(
    deployment: Deployment, place: OrganizationClient, clock: Clock
) -> None:
    vic = place.add("vic")
    for days in (3, -2, 10, 0, -100):
        clock.now = START + days * DAY
        place.control.execute(AssignRole(vic, "viewer", ResourceId("raw")), None)
    store = deployment.stores.log(deployment.home.id)

    assert isinstance(store, SqlStore)
    store.verify()
    assert [each.revision for each in store.entries()] == list(range(1, store.head().revision + 1))
    assert store.entry(place.control.revision_at(START + 4 * DAY)) is not None
