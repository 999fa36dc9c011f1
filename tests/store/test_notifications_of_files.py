"""Notifications of writes by other processes to the same data folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.kernel.ports import Head, StoreError
from headgate.store import SqlStores, open_stores
from tests.store.samples import ROOT, created


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[SqlStores]:
    stores = open_stores(tmp_path)
    assert stores.changed_elsewhere()
    assert not stores.changed_elsewhere()
    yield stores
    stores.close()


def _lose(stores: SqlStores) -> None:
    watch = stores._database.backend.moved
    watch._connection.close()  # pyright: ignore[reportFunctionMemberAccess]


def test_a_folder_that_cannot_be_watched_is_an_error_once_and_then_counts_as_changed(watched: SqlStores) -> None:
    _lose(watched)

    with pytest.raises(StoreError, match="check the disk"):
        watched.changed_elsewhere()
    assert watched.changed_elsewhere()
    assert not watched.changed_elsewhere()


def test_a_write_while_the_folder_is_not_watched_is_noticed(watched: SqlStores, tmp_path: Path) -> None:
    other = open_stores(tmp_path)
    other.log(ROOT).append(Head(), created(1))
    other.close()
    watched._database._engine.dispose()

    assert watched.changed_elsewhere()
