"""Loads into PostgreSQL: in each mode, once for each run, and atomic wherever the run ends."""

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL

from headgate.facts.ids import RunId
from headgate.pipelines.connections.targets import DatabasePlace
from headgate.pipelines.writing.postgresql import Load, LoadError, write_rows
from tests.pipelines.spark_deployment import ByHand

Row = tuple[int | None, str | None]

LOCAL = (ip_address("127.0.0.1"),)


class Frame:
    """A fake data frame that writes its rows like Spark: into a new table, over its own connections."""

    def __init__(self, url: str, rows: Sequence[Row], then: Callable[[], None] = lambda: None) -> None:
        self.write = self
        self._url = url
        self._rows = rows
        self._then = then
        self._options: dict[str, str] = {}

    def format(self, _: str) -> "Frame":
        return self

    def option(self, name: str, value: str) -> "Frame":
        self._options[name] = value
        return self

    def mode(self, _: str) -> "Frame":
        return self

    def save(self) -> None:
        name = SQL(self._options["dbtable"])  # pyright: ignore[reportArgumentType] (the caller has quoted the name)
        with psycopg.connect(self._url) as database:
            database.execute(SQL("CREATE TABLE {} (k integer, v text)").format(name))
            with database.cursor() as cursor:
                cursor.executemany(SQL("INSERT INTO {} VALUES (%s, %s)").format(name), self._rows)
        self._then()


class Target:
    """A database with a table `public.Output`, and functions to load and to read it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._parts = urlsplit(url)
        self.runs = 0

    def load(self, mode: str, run: str = "", *keys: str) -> Load:
        """Return a load of the run with this name, or of a new run."""
        self.runs += 1
        at = self._parts
        place = DatabasePlace(at.hostname or "", at.port or 0, at.path[1:], at.username or "", "", "prefer", LOCAL)
        return Load("shop", place, "public.Output", mode, keys, RunId(run or f"run{self.runs}"))

    def write(self, rows: Sequence[Row], load: Load, then: Callable[[], None] = lambda: None) -> int:
        """Load rows, and return their number."""
        frame: Any = Frame(self.url, rows, then)
        return write_rows(frame, load)

    def rows(self) -> list[Row]:
        """Return the sorted rows of the table."""
        return self.ask('SELECT * FROM "Output" ORDER BY k')

    def tables(self) -> set[str]:
        """Return the names of the tables."""
        return {
            name
            for (name,) in self.ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        }

    def ask(self, query: str) -> list[Any]:
        """Return the rows of a statement of the administrator."""
        with psycopg.connect(self.url) as database:
            found = database.execute(query.encode())
            return found.fetchall() if found.description else []


@pytest.fixture
def target(empty_postgres_url: str) -> Target:
    """Return an empty database."""
    return Target(empty_postgres_url)


class TestATable:
    def test_the_target_table_is_created_with_the_types_of_the_rows(self, target: Target) -> None:
        assert target.write([(1, "a")], target.load("replace")) == 1

        assert target.rows() == [(1, "a")]
        assert target.tables() == {"Output"}

    def test_the_target_table_is_replaced_as_a_whole(self, target: Target) -> None:
        for rows in ([(1, "a"), (2, "b")], [(3, "c")]):
            target.write(rows, target.load("replace"))

        assert target.rows() == [(3, "c")]

    def test_the_rows_of_each_run_are_appended_once(self, target: Target) -> None:
        counts = [target.write([(1, "a")], target.load("append", run)) for run in ("one", "two", "one")]

        assert counts == [1, 1, 0]
        assert target.rows() == [(1, "a"), (1, "a")]
        assert target.tables() == {"Output", "headgate_loads"}

    def test_an_upsert_leaves_one_row_for_each_key(self, target: Target) -> None:
        target.write([(1, "a"), (2, "b")], target.load("upsert", "", "k"))
        target.write([(2, "c"), (3, "d")], target.load("upsert", "", "k"))

        assert target.rows() == [(1, "a"), (2, "c"), (3, "d")]

    def test_the_columns_of_an_existing_table_stay_when_it_is_replaced(self, target: Target) -> None:
        target.ask('CREATE TABLE "Output" (v text, k bigint, at timestamptz DEFAULT now())')

        target.write([(1, "a")], target.load("replace"))

        assert target.ask('SELECT k, v, at IS NOT NULL FROM "Output"') == [(1, "a", True)]


class TestARunThatEnds:
    """Wherever a run ends, the table is unchanged; other tables of the run remain only if the process itself was killed."""

    @pytest.mark.parametrize("mode", ["replace", "append"])
    def test_a_run_that_fails_while_spark_writes_leaves_the_table_unchanged(self, target: Target, mode: str) -> None:
        target.write([(1, "a")], target.load(mode, "before"))
        before = target.tables()

        with pytest.raises(RuntimeError, match="Spark was away"):
            target.write([(2, "b")], target.load(mode, "ended"), _fails)

        assert target.rows() == [(1, "a")]
        assert target.tables() == before

    def test_an_attempt_replaces_the_staged_rows_of_a_killed_one(self, target: Target) -> None:
        load = target.load("append", "killed")
        left: Any = Frame(target.url, [(1, "torn")])
        left.option("dbtable", load.staged.as_string(None)).save()

        target.write([(1, "a")], load)

        assert target.rows() == [(1, "a")]
        assert target.tables() == {"Output", "headgate_loads"}

    def test_a_run_with_rows_that_do_not_fit_the_table_reports_the_reason(self, target: Target) -> None:
        target.ask('CREATE TABLE "Output" (k integer PRIMARY KEY, v text NOT NULL)')

        with pytest.raises(LoadError, match="to the database of the connection `shop`: null value in column"):
            target.write([(1, None)], target.load("replace"))

        assert target.tables() == {"Output"}

    def test_an_upsert_of_two_rows_with_one_key_reports_the_reason(self, target: Target) -> None:
        target.write([(1, "a")], target.load("upsert", "", "k"))

        with pytest.raises(LoadError, match="cannot affect row a second time"):
            target.write([(1, "b"), (1, "c")], target.load("upsert", "", "k"))

        assert target.rows() == [(1, "a")]

    def test_an_unreachable_database_is_reported_without_its_address(self, target: Target, free_port: int) -> None:
        place = DatabasePlace("127.0.0.1", free_port, "shop", "clerk", "secret word", "prefer", LOCAL)
        load = Load("shop", place, "public.t", "replace", (), RunId("run"))

        with pytest.raises(
            LoadError,
            match=r"^the rows cannot be written to the database of the connection `shop`: the server does not respond",
        ) as raised:
            target.write([], load)

        assert "clerk" not in str(raised.value)


def _fails() -> None:
    raise RuntimeError("Spark was away")


@pytest.mark.spark
def test_spark_upserts_a_table_into_the_database(lake: ByHand, target: Target) -> None:
    at = urlsplit(target.url)
    behind = {"host": at.hostname, "port": at.port, "database": at.path[1:], "user": at.username, "password": "none"}
    lake.owner.call("POST", "/connections", {"name": "shop_database", "postgresql": behind})
    goal = {"connection": "shop_database", "database": {"table": "public.Output", "mode": "upsert", "keys": ["k"]}}
    definition = {"kind": "destination", "name": "to_shop", "input": "lake.raw.to_shop", **goal}
    for rows in ("(1, 'a'), (2, 'b')", "(2, 'c')"):
        lake.spark.sql(f"CREATE OR REPLACE TABLE lake.raw.to_shop AS SELECT * FROM VALUES {rows} AS t (k, v)")
        lake.run(definition)

    assert target.rows() == [(1, "a"), (2, "c")]
    assert target.tables() == {"Output"}
