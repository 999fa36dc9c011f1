"""A table as one of a PostgreSQL database: Spark fills a table beside it, and one transaction does the rest."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier
from pyspark.sql import DataFrame

from headgate.facts.ids import RunId
from headgate.pipelines.connections.database import connect_database
from headgate.pipelines.connections.targets import DatabasePlace

_LOADS = "headgate_loads"
"""Beside the table: which runs have added their rows to what, written in the same transaction."""


class LoadError(Exception):
    """The rows cannot be brought into the database, and the message says why. Nothing there has changed."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one run brings where; the fields are as in the definition, and `place` is behind `connection`."""

    connection: str
    place: DatabasePlace
    table: str
    mode: str
    keys: Sequence[str]
    run: RunId

    @property
    def target(self) -> Identifier:
        """The table's name."""
        return Identifier(*self.table.split("."))

    @property
    def staged(self) -> Identifier:
        """The name of the table beside it, which nobody but this run knows."""
        return self._build_sibling(f"headgate_{self.run}")

    @property
    def loads(self) -> Identifier:
        """The name of the table that tells what was added."""
        return self._build_sibling(_LOADS)

    def _build_sibling(self, name: str) -> Identifier:
        return Identifier(self.table.split(".")[0], name)


def write_rows(frame: DataFrame, load: Load) -> int:
    """Bring the rows into the table, and return how many: 0 where an earlier attempt of the run had added them.

    Raises `LoadError`. Who reads the table meanwhile sees it as it was before, or as it is afterwards.
    """
    with _transaction(load) as database:
        if load.mode == "append" and _was_added(database, load):
            return 0
        _drop(database, load)
    try:
        name = load.staged.as_string(None)
        frame.write.format("jdbc").option("connection", load.connection).option("dbtable", name).mode("append").save()
        with _transaction(load) as database:
            return _finish(database, load)
    except BaseException:
        with suppress(LoadError), _transaction(load) as database:
            _drop(database, load)
        raise


@contextmanager
def _transaction(load: Load) -> Iterator[Connection]:
    try:
        with connect_database(load.place) as database:
            yield database
    except psycopg.Error as error:
        # Without a word of the server's own it is the client's, which tells where the database is.
        words = error.diag.message_primary or "it does not answer, or does not let the connection's user in"
        raise LoadError(f"the database of `{load.connection}`: {words}") from None


def _finish(database: Connection, load: Load) -> int:
    if database.execute("SELECT to_regclass(%s)", (load.target.as_string(database),)).fetchone() == (None,):
        database.execute(SQL("CREATE TABLE {} (LIKE {})").format(load.target, load.staged))
        if load.keys:
            database.execute(SQL("ALTER TABLE {} ADD PRIMARY KEY ({})").format(load.target, _join_columns(load.keys)))
    if load.mode == "replace":
        # Not TRUNCATE: whoever reads in a snapshot of before would find nothing.
        database.execute(SQL("DELETE FROM {}").format(load.target))
    if load.mode == "append" and not _adds_first(database, load):
        _drop(database, load)
        return 0
    rows = database.execute(_build_insert(database, load)).rowcount
    _drop(database, load)
    return rows


def _build_insert(database: Connection, load: Load) -> Composed:
    described = database.execute(SQL("SELECT * FROM {} LIMIT 0").format(load.staged)).description or ()
    columns = [each.name for each in described]
    insert = SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
        load.target, _join_columns(columns), _join_columns(columns), load.staged
    )
    if not load.keys:
        return insert
    others = [each for each in columns if each not in load.keys]
    replaced = SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(each)) for each in others)
    action = SQL("DO UPDATE SET {}").format(replaced) if others else SQL("DO NOTHING")
    return insert + SQL(" ON CONFLICT ({}) {}").format(_join_columns(load.keys), action)


def _was_added(database: Connection, load: Load) -> bool:
    if database.execute("SELECT to_regclass(%s)", (load.loads.as_string(database),)).fetchone() == (None,):
        return False
    found = SQL("SELECT 1 FROM {} WHERE run = %s AND target = %s").format(load.loads)
    return database.execute(found, (load.run, load.table)).fetchone() is not None


def _adds_first(database: Connection, load: Load) -> bool:
    """Note that the run adds its rows; say whether it had not."""
    made = SQL(
        "CREATE TABLE IF NOT EXISTS {} (run text, target text, at timestamptz DEFAULT now(), PRIMARY KEY (run, target))"
    )
    database.execute(made.format(load.loads))
    noted = SQL("INSERT INTO {} (run, target) VALUES (%s, %s) ON CONFLICT DO NOTHING").format(load.loads)
    return database.execute(noted, (load.run, load.table)).rowcount == 1


def _drop(database: Connection, load: Load) -> None:
    database.execute(SQL("DROP TABLE IF EXISTS {}").format(load.staged))


def _join_columns(columns: Sequence[str]) -> Composed:
    return SQL(", ").join(map(Identifier, columns))
