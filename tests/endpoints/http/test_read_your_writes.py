"""Read your writes: an answer is never older than its question, and no request waits for entries that are already loaded."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.kernel.audit_records import AuditRecord
from headgate.control.kernel.ports import LogWrite
from headgate.control.kernel.stores import Stores
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.facts.changes import Change
from headgate.store import open_stores
from tests.fakes import small_organization
from tests.fakes.store import FakeStores

DENIED = AuditRecord(0.0, small_organization.MEMBER, "table.select", "flights", allowed=False, revision=1)


def written(stores: Stores, *changes: Change) -> int:
    log = stores.log(small_organization.ROOT)
    return log.append(log.head(), LogWrite(0.0, None, "elsewhere", changes)).revision


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Stores, Stores]]:
    """Two stores on one folder with the small organization, like those of two processes."""
    both = open_stores(tmp_path), open_stores(tmp_path)
    written(both[0], *small_organization.PEOPLE, *small_organization.THINGS)
    yield both
    for each in both:
        each.close()


def opened(stores: Stores) -> tuple[Organizations, FreshnessBarrier]:
    """Return the opened organization with its barrier, after a first wait."""
    organizations = Organizations(stores, FixedModels(small_organization.MODELS), lambda: small_organization.NOW)
    organizations.open(small_organization.ROOT)
    freshness = FreshnessBarrier(organizations, shares_checks=True)
    asyncio.run(freshness.wait())
    return organizations, freshness


def is_here(freshness: FreshnessBarrier) -> bool:
    """Ask in an event loop of its own, so that no earlier check counts."""

    async def ask() -> bool:
        return freshness.is_here()

    return asyncio.run(ask())


class TestAFile:
    def test_a_store_file_without_foreign_writes_is_fresh(self, stores: tuple[Stores, Stores]) -> None:
        _, freshness = opened(stores[0])

        assert is_here(freshness)

    def test_a_store_file_with_new_audit_records_only_is_fresh(self, stores: tuple[Stores, Stores]) -> None:
        _, freshness = opened(stores[0])

        stores[1].audit([(small_organization.ROOT, DENIED)])

        assert is_here(freshness)

    def test_a_store_file_with_a_new_revision_is_fresh_only_after_a_wait(self, stores: tuple[Stores, Stores]) -> None:
        organizations, freshness = opened(stores[0])

        revision = written(
            stores[1], small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS)
        )

        assert not is_here(freshness)
        assert not is_here(freshness)
        asyncio.run(freshness.wait())
        assert is_here(freshness)
        assert organizations.open(small_organization.ROOT).control.snapshot.revision == revision


def test_a_store_that_cannot_detect_writes_is_never_fresh() -> None:
    stores = FakeStores(shared=True)
    stores.log(small_organization.ROOT).write(*small_organization.PEOPLE)
    organizations = Organizations(stores, FixedModels(small_organization.MODELS), lambda: small_organization.NOW)
    freshness = FreshnessBarrier(organizations, shares_checks=True)
    organizations.open(small_organization.ROOT)

    stores.log(small_organization.ROOT).write(
        small_organization.assigned(small_organization.MEMBER, "admin", small_organization.ROOT)
    )

    assert not is_here(freshness)
    asyncio.run(freshness.wait())
    assert not is_here(freshness)
    assert organizations.open(small_organization.ROOT).control.snapshot.revision == 2


def test_the_requests_of_one_turn_of_the_event_loop_share_a_check(stores: tuple[Stores, Stores]) -> None:
    _, freshness = opened(stores[0])
    change = small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS)

    async def ask() -> list[bool]:
        found = [freshness.is_here()]
        written(stores[1], change)
        found.append(freshness.is_here())  # the request arrived before the write: it may be served before it
        await asyncio.sleep(0)
        return [*found, freshness.is_here()]

    assert asyncio.run(ask()) == [True, True, False]


def test_event_loops_share_no_check(stores: tuple[Stores, Stores]) -> None:
    _, freshness = opened(stores[0])
    change = small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS)

    async def ask() -> list[bool]:
        assert freshness.is_here()
        written(stores[1], change)
        return [await asyncio.to_thread(is_here, freshness), freshness.is_here()]

    assert asyncio.run(ask()) == [False, False]


def test_a_request_that_waits_shares_its_check_with_no_other(stores: tuple[Stores, Stores]) -> None:
    """On uvloop, data is received between two steps of tasks, so that a request can arrive after the check of a step."""
    _, freshness = opened(stores[0])

    async def ask() -> bool:
        await freshness.wait()
        written(stores[1], small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS))
        return freshness.is_here()

    assert not asyncio.run(ask())


def test_connections_share_no_check_by_default(stores: tuple[Stores, Stores]) -> None:
    organizations, _ = opened(stores[0])
    freshness = FreshnessBarrier(organizations)

    async def ask() -> list[bool]:
        await freshness.wait()
        found = [freshness.is_here()]
        written(stores[1], small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS))
        return [*found, freshness.is_here()]

    assert asyncio.run(ask()) == [True, False]
