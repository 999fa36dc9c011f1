"""A log in a database: restarts, pages, races, tampering. `test_stores` tests what every store promises."""

import contextlib
import threading
from pathlib import Path

import pytest

from headgate.control.kernel.ports import Checkpoint, Head, LogWrite, RevisionConflictError, StoreError
from headgate.store import SqlStore, open_stores
from tests.facts.samples import ANNA, SAMPLES
from tests.store.samples import ROOT, created
from tests.store.tampered_store import run


def test_a_restart_gives_the_same_entries(lasting: str | Path) -> None:
    stores = open_stores(lasting)
    store = stores.log(ROOT)
    store.append(Head(), LogWrite(1.5, None, "create_organization", SAMPLES))
    store.append(store.head(), created(1))
    before = list(store.entries())
    stores.close()

    again = open_stores(lasting)

    assert list(again.log(ROOT).entries()) == before
    assert before[0].changes == SAMPLES
    assert [entry.actor for entry in before] == [None, ANNA]
    again.log(ROOT).verify()
    again.close()


def test_entries_are_read_in_pages_without_gap(sql_log: SqlStore) -> None:
    for _ in range(1003):
        sql_log.append(sql_log.head(), LogWrite(0.0, None, "nothing", ()))

    assert [entry.revision for entry in sql_log.entries(after=2)] == list(range(3, 1004))


def test_one_of_several_racing_threads_wins_each_revision(sql_log: SqlStore) -> None:
    wins: list[int] = []
    start = threading.Barrier(4)

    def race() -> None:
        for _ in range(20):
            start.wait()
            expected = sql_log.head()
            start.wait()
            with contextlib.suppress(RevisionConflictError):
                wins.append(sql_log.append(expected, LogWrite(0.0, None, "race", ())).revision)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(wins) == list(range(1, 21))
    sql_log.verify()


@pytest.mark.parametrize(
    ("statement", "revision"),
    [
        ("UPDATE log SET actor = 'u9' WHERE revision = 2", 2),
        ("UPDATE log SET at = at + 1 WHERE revision = 3", 3),
        ("UPDATE log SET changes = '[]' WHERE revision = 2", 2),
        ("UPDATE log SET changes = 'x' WHERE revision = 2", 2),
        ("UPDATE log SET origin = replace(origin, 'headgate', 'api') WHERE revision = 2", 2),
        ("UPDATE log SET origin = NULL, grounds = NULL WHERE revision = 2", 2),
        ("UPDATE log SET grounds = NULL WHERE revision = 3", 3),
        ("UPDATE log SET hash = previous_hash WHERE revision = 1", 1),
        ("UPDATE log SET log_id = 'stolen'", 1),
        ("DELETE FROM log WHERE revision = 2", 2),
        ("DELETE FROM log WHERE revision = 1", 1),
    ],
)
def test_an_altered_row_is_found(lasting: str | Path, statement: str, revision: int) -> None:
    stores = open_stores(lasting)
    for number in range(4):
        stores.log(ROOT).append(stores.log(ROOT).head(), created(number))
    stores.log(ROOT).verify()

    run(lasting, statement)

    root = stores.logs()[0] if stores.logs() else ROOT
    with pytest.raises(StoreError, match=f"revision {revision} "):
        stores.log(root).verify()
    stores.close()


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("changes", '[{"change": "Unheard"}]'),
        ("origin", '{"door": "api", "unheard": 1}'),
        ("grounds", '[{"unheard": 1}]'),
        ("grounds", '["unheard"]'),
    ],
)
def test_an_entry_that_only_a_later_version_understands_is_an_error(
    lasting: str | Path, column: str, text: str
) -> None:
    stores = open_stores(lasting)
    stores.log(ROOT).append(Head(), created(1))

    run(lasting, f"UPDATE log SET {column} = '{text}'")

    with pytest.raises(
        StoreError,
        match=r"revision 1 of the log `organization` has content that this version of Headgate does not know .*(Unheard|unheard|mapping)",
    ):
        list(stores.log(ROOT).entries())
    stores.close()


@pytest.mark.parametrize("column", ["changes", "origin", "grounds"])
def test_an_entry_that_cannot_be_read_is_an_error(lasting: str | Path, column: str) -> None:
    stores = open_stores(lasting)
    stores.log(ROOT).append(Head(), created(1))

    run(lasting, f"UPDATE log SET {column} = '7'")

    with pytest.raises(StoreError, match="revision 1 of the log `organization` cannot be read"):
        list(stores.log(ROOT).entries())
    stores.close()


def test_an_entry_that_cannot_be_written_is_reported(sql_log: SqlStore) -> None:
    with pytest.raises(StoreError, match="nothing was written"):
        sql_log.append(Head(), LogWrite(0.0, None, "\ud800", ()))

    assert sql_log.head().revision == 0


def test_the_newest_checkpoints_and_one_of_each_ten_thousand_revisions_remain(sql_log: SqlStore) -> None:
    made = [*range(500, 31_000, 500)]
    for revision in made:
        sql_log.put_checkpoint(Checkpoint(revision, 0.0, b"facts"))

    asked = (sql_log.checkpoint(at_most=revision) for revision in made)
    kept = {found.revision for found in asked if found is not None}
    assert kept == {500, 10_000, 20_000, 29_500, 30_000, 30_500}


def test_a_checkpoint_that_is_made_twice_is_one(sql_log: SqlStore) -> None:
    for content in (b"one", b"other"):
        sql_log.put_checkpoint(Checkpoint(1, 0.0, content))

    assert sql_log.checkpoint() == Checkpoint(1, 0.0, b"one")


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE log SET actor = 'u9' WHERE revision = 3", "was altered"),
        ("UPDATE log SET hash = previous_hash WHERE revision = 2", "does not follow the revision before it"),
        ("DELETE FROM log WHERE revision = 2", "does not follow the revision before it"),
        ("DELETE FROM log WHERE revision = 3", "is missing"),
    ],
)
def test_entries_that_do_not_follow_are_not_read(sql_log: SqlStore, statement: str, fault: str) -> None:
    for number in range(4):
        sql_log.append(sql_log.head(), created(number))
    database = sql_log._database
    with database.transaction() as connection:
        connection.exec_driver_sql(statement)

    with pytest.raises(StoreError, match=f"revision 3 of the log `organization` {fault}"):
        list(sql_log.entries(after=2))
