"""Writes a table into a PostgreSQL database: Spark fills a staging table, and one transaction moves the rows."""

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
"""A table in the same schema with the runs that have appended rows, written in the same transaction (idempotency)."""


class LoadError(Exception):
    """The rows cannot be written to the database; the message says why. The table is unchanged."""


@dataclass(frozen=True, slots=True)
class Load:
    """One run's write to one table. Fields are as in the definition; `place` is the target of `connection`."""

    connection: str
    place: DatabasePlace
    table: str
    mode: str
    keys: Sequence[str]
    run: RunId

    @property
    def target(self) -> Identifier:
        """The name of the table."""
        return Identifier(*self.table.split("."))

    @property
    def staged(self) -> Identifier:
        """The name of the staging table, which only this run uses."""
        return self._build_sibling(f"headgate_{self.run}")

    @property
    def loads(self) -> Identifier:
        """The name of the table with the runs that have appended rows."""
        return self._build_sibling(_LOADS)

    def _build_sibling(self, name: str) -> Identifier:
        return Identifier(self.table.split(".")[0], name)


def write_rows(frame: DataFrame, load: Load) -> int:
    """Write the rows into the table, and return their number; 0 if an earlier attempt of the run has appended them.

    Raises `LoadError`. A concurrent reader sees the table either before or after the write.
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
        # Only a message of the server is shown: the client's own messages have the address of the database.
        words = error.diag.message_primary or (
            "the server does not respond, or refuses the connection's user; check the address, user and password of the connection"
        )
        raise LoadError(
            f"the rows cannot be written to the database of the connection `{load.connection}`: {words}"
        ) from None


def _finish(database: Connection, load: Load) -> int:
    if database.execute("SELECT to_regclass(%s)", (load.target.as_string(database),)).fetchone() == (None,):
        database.execute(SQL("CREATE TABLE {} (LIKE {})").format(load.target, load.staged))
        if load.keys:
            database.execute(SQL("ALTER TABLE {} ADD PRIMARY KEY ({})").format(load.target, _join_columns(load.keys)))
    if load.mode == "replace":
        # Not TRUNCATE: a concurrent reader with an older snapshot would see an empty table.
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
    """Record that the run appends its rows; return whether it had not done so before."""
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
