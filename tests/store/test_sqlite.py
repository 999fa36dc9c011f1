"""Failures of an embedded store: each raises `StoreError`, and the store works again once its cause is removed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate.control.kernel.ports import DocumentPut, Head, LogWrite, StoreError
from headgate.store import FILE, SqlStores, open_stores, sqlite
from tests.store.samples import ROOT, created

NOTHING = LogWrite(0.0, None, "nothing", ())


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStores]:
    """A store with one entry, which does not wait for locks of other connections."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    opened = open_stores(tmp_path)
    opened.log(ROOT).append(Head(), created(1))
    yield opened
    opened.close()


def _limit(stores: SqlStores, pages: int) -> None:
    """Limit the file to this number of pages of 4096 bytes."""
    with stores._database.transaction() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


def test_a_writer_that_keeps_the_lock_is_an_error_until_it_is_gone(stores: SqlStores, tmp_path: Path) -> None:
    head = stores.log(ROOT).head()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as keeper:
        keeper.execute("BEGIN IMMEDIATE")

        with pytest.raises(StoreError, match="locked"):
            stores.log(ROOT).append(head, created(2))
        assert stores.log(ROOT).head().revision == 1, "a reader does not wait for the lock"

        keeper.execute("ROLLBACK")
    assert stores.log(ROOT).append(stores.log(ROOT).head(), created(2)).revision == 2


def test_a_full_disk_writes_nothing_and_is_over_when_there_is_space(stores: SqlStores) -> None:
    _limit(stores, 30)
    head = stores.log(ROOT).head()

    with pytest.raises(StoreError, match="full"):
        stores.log(ROOT).append(
            head, LogWrite(0.0, None, "nothing", (), (DocumentPut("note", "n", {"text": "x" * 99_999}),))
        )
    assert stores.log(ROOT).head().revision == 1
    assert stores.log(ROOT).document("note", "n") is None

    _limit(stores, 1_000_000)
    assert stores.log(ROOT).append(stores.log(ROOT).head(), created(2)).revision == 2
    stores.log(ROOT).verify()


def test_a_file_that_was_replaced_by_nonsense_is_an_error(stores: SqlStores, tmp_path: Path) -> None:
    stores.settle()
    (tmp_path / FILE).write_bytes(b"nonsense" * 5000)

    with pytest.raises(StoreError, match="restore a backup"):
        open_stores(tmp_path)
