"""Notifications of writes by other processes to the same data folder."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate.control.kernel.ports import Head, PointerConflictError, RevisionConflictError, StoreError
from headgate.control.kernel.stores import NumberedEntry
from headgate.store import SqlStores, open_stores
from tests.store.samples import OTHER, ROOT, created


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[SqlStores]:
    stores = open_stores(tmp_path)
    assert stores.changed_elsewhere()
    assert not stores.changed_elsewhere()
    yield stores
    stores.close()


def _lose(stores: SqlStores) -> None:
    watch = stores._database.backend.moved.__self__  # pyright: ignore[reportFunctionMemberAccess]
    watch._connection.close()


def test_a_folder_that_cannot_be_watched_is_an_error_once_and_then_counts_as_changed(watched: SqlStores) -> None:
    _lose(watched)

    with pytest.raises(StoreError, match="check the disk"):
        watched.changed_elsewhere()
    assert watched.changed_elsewhere()
    assert not watched.changed_elsewhere()


def test_the_newest_entry_of_a_folder_that_cannot_be_watched_is_an_error_once(watched: SqlStores) -> None:
    _lose(watched)

    with pytest.raises(StoreError, match="check the disk"):
        watched.newest_entry()
    assert watched.newest_entry() is None


def test_the_entries_of_all_logs_and_processes_in_a_folder_are_numbered(watched: SqlStores, tmp_path: Path) -> None:
    assert watched.newest_entry() is None
    first = watched.log(ROOT).append(Head(), created(1), created(2))
    assert watched.newest_entry() == NumberedEntry(2, ROOT, first)

    with closing(open_stores(tmp_path)) as other:
        second = other.log(OTHER).append(Head(), created(3))

    assert watched.newest_entry() == NumberedEntry(3, OTHER, second)


def test_an_entry_that_was_not_written_has_no_number(watched: SqlStores) -> None:
    head = watched.log(ROOT).append(Head(), created(1))
    with pytest.raises(RevisionConflictError):
        watched.log(ROOT).append(Head(), created(2))
    with pytest.raises(PointerConflictError):
        watched.log(ROOT).append(head, created(1))
    newest = watched.log(ROOT).append(head, created(2))

    assert watched.newest_entry() == NumberedEntry(2, ROOT, newest)


@pytest.mark.parametrize("kind", ["memory", "postgresql"])
def test_other_stores_number_no_entries(kind: str, request: pytest.FixtureRequest) -> None:
    where = ":memory:" if kind == "memory" else request.getfixturevalue("postgres_url")
    with closing(open_stores(where)) as stores:
        stores.log(ROOT).append(Head(), created(1))

        assert stores.newest_entry() is None


def test_a_write_while_the_folder_is_not_watched_is_noticed(watched: SqlStores, tmp_path: Path) -> None:
    other = open_stores(tmp_path)
    other.log(ROOT).append(Head(), created(1))
    other.close()
    watched._database._engine.dispose()

    assert watched.changed_elsewhere()
