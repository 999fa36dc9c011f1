"""The store of a data folder: restart, pages, races, tampering. What every store promises is in `test_port`."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.ports import Draft, RevisionConflictError, StoreError
from headgate.store import SqliteStore
from tests.facts.samples import ANNA, SAMPLES
from tests.store.samples import created


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path)
    yield opened
    opened.close()


def test_a_restart_gives_the_same_entries(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    store.append(0, Draft(1.5, None, "create_organization", SAMPLES))
    store.append(1, created(1))
    before = list(store.entries())
    store.close()

    again = SqliteStore.open(tmp_path)

    assert list(again.entries()) == before
    assert before[0].changes == SAMPLES
    assert [entry.actor for entry in before] == [None, ANNA]
    assert [entry.revision for entry in again.entries(after=1)] == [2]
    again.verify()


def test_entries_are_read_in_pages_without_gap(store: SqliteStore) -> None:
    for number in range(1003):
        store.append(number, Draft(0.0, None, "nothing", ()))

    assert [entry.revision for entry in store.entries(after=2)] == list(range(3, 1004))


def test_of_threads_that_race_exactly_one_wins_each_revision(store: SqliteStore) -> None:
    wins: list[int] = []
    start = threading.Barrier(4)

    def race() -> None:
        for expected in range(20):
            start.wait()
            with contextlib.suppress(RevisionConflictError):
                wins.append(store.append(expected, Draft(0.0, None, "race", ())))

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(wins) == list(range(1, 21))
    store.verify()


def _tamper(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "headgate.db") as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "revision"),
    [
        ("UPDATE log SET actor = 'u9' WHERE revision = 2", 2),
        ("UPDATE log SET at = at + 1 WHERE revision = 3", 3),
        ("UPDATE log SET changes = '[]' WHERE revision = 2", 2),
        ("UPDATE log SET changes = 'x' WHERE revision = 2", 2),
        ("UPDATE log SET hash = previous_hash WHERE revision = 1", 1),
        ("DELETE FROM log WHERE revision = 2", 2),
        ("DELETE FROM log WHERE revision = 1", 1),
    ],
)
def test_an_altered_row_is_found(store: SqliteStore, tmp_path: Path, statement: str, revision: int) -> None:
    for number in range(4):
        store.append(number, created(number))
    store.verify()

    _tamper(tmp_path, statement)

    with pytest.raises(StoreError, match=f"revision {revision} "):
        store.verify()


def test_an_unknown_change_in_the_log_is_an_error(store: SqliteStore, tmp_path: Path) -> None:
    store.append(0, created(1))
    _tamper(tmp_path, """UPDATE log SET changes = '[{"change": "Unheard"}]'""")

    with pytest.raises(StoreError, match=r"revision 1 of the log cannot be understood .*Unheard"):
        list(store.entries())


class TestOpenRefuses:
    """Each refusal is one sentence that says what to do."""

    def test_another_schema_version(self, tmp_path: Path) -> None:
        SqliteStore.open(tmp_path).close()
        _tamper(tmp_path, "UPDATE alembic_version SET version_num = 99")

        with pytest.raises(StoreError, match="schema version 99"):
            SqliteStore.open(tmp_path)

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "headgate.db").write_bytes(b"something else entirely" * 100)

        with pytest.raises(StoreError, match="restore a copy"):
            SqliteStore.open(tmp_path)

    def test_a_database_of_something_else(self, tmp_path: Path) -> None:
        _tamper(tmp_path, "CREATE TABLE cookies (id INTEGER)")

        with pytest.raises(StoreError, match="not a store of Headgate"):
            SqliteStore.open(tmp_path)

    def test_a_store_without_a_version(self, tmp_path: Path) -> None:
        SqliteStore.open(tmp_path).close()
        _tamper(tmp_path, "DELETE FROM alembic_version")

        with pytest.raises(StoreError, match="schema version None"):
            SqliteStore.open(tmp_path)

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(StoreError, match="choose another"):
            SqliteStore.open(tmp_path / "file" / "folder")

    def test_a_database_path_that_is_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "headgate.db").mkdir()

        with pytest.raises(StoreError):
            SqliteStore.open(tmp_path)
