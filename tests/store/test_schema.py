"""Schema migrations: each store of a released version opens, and its tables then match the code."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, create_engine, event, inspect

from headgate.control.kernel.ports import LOCAL, DocumentPut, Pointer, StoreError
from headgate.facts.changes import HomeModelChanged, ModelInstalled, ModelRemoved, ModelUpgraded, TokenIssued
from headgate.facts.ids import ResourceId
from headgate.store import open_stores, sqlite
from headgate.store.schema import FOLDER, NEWEST_SCHEMA, migrate
from headgate.store.stores import SqlStores
from headgate.store.tables import table_metadata
from tests.facts.samples import ANNA, SAMPLES
from tests.store.samples import ROOT, created
from tests.store.tampered_store import run

NEWER = (HomeModelChanged, ModelUpgraded, ModelInstalled, ModelRemoved)
"""The changes that the released versions did not have; nor did they have `acts_in` of a token."""

RELEASED = sorted((Path(__file__).parent / "released").glob("*.sql"))
_STATEMENT = re.compile(r".*?;\n", re.DOTALL)


@pytest.fixture(params=["folder", "postgresql"])
def empty(request: pytest.FixtureRequest) -> str | Path:
    """The place of a database without tables."""
    return request.getfixturevalue("tmp_path" if request.param == "folder" else "empty_postgres_url")


@pytest.fixture(params=RELEASED, ids=lambda file: file.stem)
def released(request: pytest.FixtureRequest, empty: str | Path) -> str | Path:
    """The place of a store that a released version of Headgate wrote."""
    run(empty, *_STATEMENT.findall(request.param.read_text(encoding="utf-8")))
    return empty


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection to a database without tables."""
    url = "sqlite://"
    if request.param == "postgresql":
        url = request.getfixturevalue("empty_postgres_url").replace("postgresql", "postgresql+psycopg", 1)
    engine = create_engine(url)
    with engine.connect() as opened, opened.begin():
        yield opened
    engine.dispose()


def test_a_released_store_keeps_everything(released: str | Path) -> None:
    stores = open_stores(released)
    store = stores.log(ROOT)

    assert list(stores.logs()) == [ROOT]
    entries = list(store.entries())
    assert [entry.revision for entry in entries] == [1, 2, 3, 4]
    known = (replace(each, acts_in=None) if isinstance(each, TokenIssued) else each for each in SAMPLES)
    assert entries[0].changes == tuple(each for each in known if not isinstance(each, NEWER))
    assert {(entry.origin, entry.grounds) for entry in entries} == {(LOCAL, ())}
    assert store.document("principal", ANNA) == {"name": "Änna Ö"}
    assert store.pointer(ResourceId("t1")) is None
    assert store.pointer(ResourceId("t2")) == Pointer(ResourceId("t2"), "file:///w/2b")
    stores.close()


def test_a_store_with_two_tables_in_one_folder_is_not_migrated_and_says_which(released: str | Path) -> None:
    row = "'{0}', '{1}', 'file:///w/x/metadata/{1}.json', NULL"
    columns = "log_id, table_id, metadata_location, previous_location"
    if "log_id" not in _columns(released, "pointers"):
        columns, row = columns.partition(", ")[2], row.partition(", ")[2]
    for number in ("1", "2"):
        run(released, f"INSERT INTO pointers ({columns}) VALUES ({row.format('organization', number)})")

    with pytest.raises(StoreError, match=r"the table `2` of the organization .* have the same files"):
        open_stores(released)

    assert "place" not in _columns(released, "pointers")


def test_the_hashes_of_a_released_store_hold_and_go_on(released: str | Path) -> None:
    for _ in range(2):
        stores = open_stores(released)
        store = stores.log(ROOT)
        store.append(store.head(), created(100 + store.head().revision))
        store.verify()
        stores.close()


def test_an_altered_entry_of_a_released_store_is_found(released: str | Path) -> None:
    open_stores(released).close()
    run(released, "UPDATE log SET actor = 'u9' WHERE revision = 2")
    stores = open_stores(released)

    with pytest.raises(StoreError, match="revision 2 "):
        stores.log(ROOT).verify()

    stores.close()


def test_an_older_headgate_reads_that_the_store_is_newer(released: str | Path) -> None:
    open_stores(released).close()

    assert run(released, "SELECT id, schema_version FROM meta") == [(1, 2)]


def test_every_migration_together_makes_the_tables_of_the_code(connection: Connection) -> None:
    migrate(connection, None)

    assert compare_metadata(MigrationContext.configure(connection), table_metadata) == []


def test_a_new_store_has_the_tables_that_the_migrations_make(empty: str | Path, connection: Connection) -> None:
    open_stores(empty).close()
    migrate(connection, None)
    migrated = MetaData()
    migrated.reflect(connection)

    made = MetaData()
    engine = create_engine(
        f"sqlite:///{empty / 'headgate.db'}" if isinstance(empty, Path) else empty.replace(":", "+psycopg:", 1)
    )
    made.reflect(engine)
    engine.dispose()

    assert _described(made) == _described(migrated)


def test_the_newest_migration_is_the_one_that_the_code_names() -> None:
    assert ScriptDirectory(str(FOLDER)).get_current_head() == NEWEST_SCHEMA


def test_a_store_that_is_opened_twice_at_once_is_migrated_once(released: str | Path) -> None:
    first, second = open_stores(released), open_stores(released)

    first.log(ROOT).put_document(DocumentPut("run", "a", {}))

    assert second.log(ROOT).document("run", "a") == {}
    first.close()
    second.close()


def _opened_at_once(where: str | Path) -> list[ResourceId]:
    """Open a store four times at once, like servers that start together; return the logs that each of them finds."""
    together = threading.Barrier(4)

    def opened_together(_: int) -> SqlStores:
        together.wait()
        return open_stores(where)

    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(opened_together, range(4)))
    try:
        return [root for stores in opened for root in stores.logs()]
    finally:
        for stores in opened:
            stores.close()


def test_servers_that_start_together_make_the_tables_once(empty: str | Path) -> None:
    assert _opened_at_once(empty) == []


def test_connections_that_open_a_new_file_together_wait_for_each_other(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def read_together(file: Path) -> None:
        engine = create_engine(f"sqlite:///{file}")
        event.listen(engine, "connect", sqlite._prepare)
        together.wait()
        engine.connect().close()
        engine.dispose()

    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            list(threads.map(read_together, [tmp_path / f"{number}.db"] * 8))


def test_servers_that_start_together_migrate_once(released: str | Path) -> None:
    assert _opened_at_once(released) == [ROOT] * 4


def _columns(where: str | Path, table: str) -> set[str]:
    url = f"sqlite:///{where / 'headgate.db'}" if isinstance(where, Path) else where.replace(":", "+psycopg:", 1)
    engine = create_engine(url)
    try:
        return {str(each["name"]) for each in inspect(engine).get_columns(table)}
    finally:
        engine.dispose()


def _described(tables: MetaData) -> dict[str, object]:
    """Return the columns, keys and indexes of the tables, in a form that is the same for every kind of database."""
    return {
        table.name: (
            [(column.name, column.nullable) for column in table.columns],
            sorted(column.name for column in table.primary_key),
            sorted((str(index.name), [each.name for each in index.columns]) for index in table.indexes),
        )
        for table in tables.sorted_tables
    }
