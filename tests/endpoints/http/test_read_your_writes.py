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
    freshness = FreshnessBarrier(organizations)
    asyncio.run(freshness.wait())
    return organizations, freshness


class TestAFile:
    def test_a_store_file_without_foreign_writes_is_fresh(self, stores: tuple[Stores, Stores]) -> None:
        _, freshness = opened(stores[0])

        assert freshness.is_here()

    def test_a_store_file_with_new_audit_records_only_is_fresh(self, stores: tuple[Stores, Stores]) -> None:
        _, freshness = opened(stores[0])

        stores[1].audit([(small_organization.ROOT, DENIED)])

        assert freshness.is_here()

    def test_a_store_file_with_a_new_revision_is_fresh_only_after_a_wait(self, stores: tuple[Stores, Stores]) -> None:
        organizations, freshness = opened(stores[0])

        revision = written(
            stores[1], small_organization.assigned(small_organization.MEMBER, "viewer", small_organization.FLIGHTS)
        )

        assert not freshness.is_here()
        assert not freshness.is_here()
        asyncio.run(freshness.wait())
        assert freshness.is_here()
        assert organizations.open(small_organization.ROOT).control.snapshot.revision == revision


def test_a_store_that_cannot_detect_writes_is_never_fresh() -> None:
    stores = FakeStores(shared=True)
    stores.log(small_organization.ROOT).write(*small_organization.PEOPLE)
    organizations = Organizations(stores, FixedModels(small_organization.MODELS), lambda: small_organization.NOW)
    freshness = FreshnessBarrier(organizations)
    organizations.open(small_organization.ROOT)

    stores.log(small_organization.ROOT).write(
        small_organization.assigned(small_organization.MEMBER, "admin", small_organization.ROOT)
    )

    assert not freshness.is_here()
    asyncio.run(freshness.wait())
    assert not freshness.is_here()
    assert organizations.open(small_organization.ROOT).control.snapshot.revision == 2
