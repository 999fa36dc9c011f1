"""The tables that the inputs expect, created on both sides alike, with public SQL and the stock client."""

import contextlib
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tools.compatibility.jobs import QUERY_FOLDERS

HOME: Final = "default"
"""The database in which the SQL tests and the examples run."""
_KEPT: Final = frozenset(("testdata", "arraydata", "mapdata", "aggtest", "onek", "tenk1"))
_NEEDS_TPCDS: Final = "pipe-operators.sql"
"""The one input of the SQL tests that reads the tables of TPC-DS."""
_TENK: Final = (
    "unique1 int, unique2 int, two int, four int, ten int, twenty int, hundred int, thousand int, twothousand int, "
    "fivethous int, tenthous int, odd int, even int, stringu1 string, stringu2 string, string4 string"
)
_MAPS: Final = (
    "map(1,'a1',2,'b1',3,'c1',4,'d1',5,'e1')",
    "map(1,'a2',2,'b2',3,'c2',4,'d2')",
    "map(1,'a3',2,'b3',3,'c3')",
    "map(1,'a4',2,'b4')",
    "map(1,'a5')",
)
_ROWS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("store_sales", "catalog_sales", "web_sales", "inventory", "lineitem", "lineorder"), 400),
    "date_dim": 366,
    "time_dim": 96,
}
_OTHER_ROWS: Final = 60
_SSB: Final[Mapping[str, str]] = {
    "lineorder": "lo_orderkey INT, lo_linenumber INT, lo_custkey INT, lo_partkey INT, lo_suppkey INT, lo_orderdate INT, "
    "lo_orderpriority STRING, lo_shippriority STRING, lo_quantity INT, lo_extendedprice INT, lo_ordertotalprice INT, "
    "lo_discount INT, lo_revenue INT, lo_supplycost INT, lo_tax INT, lo_commitdate INT, lo_shipmode STRING",
    "part": "p_partkey INT, p_name STRING, p_mfgr STRING, p_category STRING, p_brand1 STRING, p_color STRING, "
    "p_type STRING, p_size INT, p_container STRING",
    "supplier": "s_suppkey INT, s_name STRING, s_address STRING, s_city STRING, s_nation STRING, s_region STRING, s_phone STRING",
    "customer": "c_custkey INT, c_name STRING, c_address STRING, c_city STRING, c_nation STRING, c_region STRING, "
    "c_phone STRING, c_mktsegment STRING",
    "date": "d_datekey INT, d_date STRING, d_dayofweek STRING, d_month STRING, d_year INT, d_yearmonthnum INT, "
    "d_yearmonth STRING, d_daynuminweek INT, d_daynuminmonth INT, d_daynuminyear INT, d_monthnuminyear INT, "
    "d_weeknuminyear INT, d_sellingseason STRING, d_lastdayinweekfl STRING, d_lastdayinmonthfl STRING, "
    "d_holidayfl STRING, d_weekdayfl STRING",
}
_SCHEMA: Final = re.compile(r'"(\w+)" ->\s+"""(.*?)"""', re.DOTALL)
_CREATE: Final = re.compile(r"CREATE TABLE `\w+` \((.*)\)\s*USING", re.DOTALL)
_COLUMN: Final = re.compile(r"`?(\w+)`?\s+([A-Za-z]+(?:\(\d+(?:,\s*\d+)?\))?)")
_OWN_KEYS: Final = frozenset(("item_sk", "date_sk", "orderkey", "partkey", "suppkey", "custkey", "datekey"))


def home_of(job: str) -> str:
    """Return the database in which a job runs."""
    folder = job.split("/", 1)[0]
    return folder.partition("-")[0] if folder in QUERY_FOLDERS else HOME


def databases_of(jobs: Iterable[str]) -> set[str]:
    """Return the databases that the jobs need."""
    names = set(jobs)
    return {*map(home_of, names), *(("tpcds",) if _NEEDS_TPCDS in names else ())}


def create_tables(session: Any, databases: Iterable[str], tests: Path, sources: Path) -> None:
    """Create the databases with their tables; `tests` and `sources` are Spark's jars."""
    for database in sorted(databases):
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{database}").collect()
        if database == HOME:
            with zipfile.ZipFile(tests) as archive:
                _create_home(session, archive)
            continue
        with zipfile.ZipFile(sources) as archive:
            tables = _query_tables(database, archive)
        for table, columns in tables.items():
            _create_filled(session, f"lake.{database}.`{table}`", table, columns)


def create_views(session: Any, job: str) -> None:
    """Create temporary views of the tables of TPC-DS for the one input that reads them without a database."""
    if job == _NEEDS_TPCDS:
        for row in session.sql("SHOW TABLES IN lake.tpcds").collect():
            name = row.tableName
            session.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM lake.tpcds.{name}").collect()  # noqa: S608 (constants of this module and Spark's names)


def databases_in(session: Any) -> frozenset[str]:
    """Return the names of the databases of the lake."""
    return frozenset(row[0] for row in session.sql("SHOW NAMESPACES IN lake").collect())


def drop_leftovers(session: Any, job: str, kept: frozenset[str]) -> None:
    """Drop the tables and views that a job has left in its database, and the databases that are not among the `kept` ones."""
    if home_of(job) != HOME:
        return
    session.sql(f"USE lake.{HOME}").collect()
    _drop_objects(session, HOME, _KEPT)
    for database in databases_in(session) - kept:
        _drop_objects(session, database, frozenset())
        with contextlib.suppress(Exception):
            session.sql(f"DROP NAMESPACE IF EXISTS lake.`{database}`").collect()


def drop_databases(session: Any, databases: Iterable[str]) -> None:
    """Drop the databases with all their tables."""
    for database in databases:
        _drop_objects(session, database, frozenset())
        session.sql(f"DROP NAMESPACE lake.`{database}`").collect()


def _drop_objects(session: Any, database: str, kept: frozenset[str]) -> None:
    for kind in ("VIEW", "TABLE"):
        for row in session.sql(f"SHOW {kind}S IN lake.`{database}`").collect():
            if not row.isTemporary and row[1] not in kept:
                with contextlib.suppress(Exception):
                    session.sql(f"DROP {kind} IF EXISTS lake.`{database}`.`{row[1]}`").collect()


def _create_home(session: Any, archive: zipfile.ZipFile) -> None:
    session.sql(f"USE lake.{HOME}").collect()
    numbers = "SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)"
    session.sql(f"CREATE TABLE testdata AS {numbers}").collect()
    arrays = "(array(1,2,3), array(array(1,2,3))), (array(2,3,4), array(array(2,3,4)))"
    session.sql(f"CREATE TABLE arraydata AS SELECT * FROM VALUES {arrays} AS t(arraycol, nestedarraycol)").collect()  # noqa: S608 (constants of this module and Spark's names)
    maps = ", ".join(f"({each})" for each in _MAPS)
    session.sql(f"CREATE TABLE mapdata AS SELECT * FROM VALUES {maps} AS t(mapcol)").collect()  # noqa: S608 (constants of this module and Spark's names)
    for file, columns, table in (
        ("agg", "a int, b float", "aggtest"),
        ("onek", _TENK, "onek"),
        ("tenk", _TENK, "tenk1"),
    ):
        _load(session, archive.read(f"test-data/postgresql/{file}.data").decode(), columns, table)


def _load(session: Any, text: str, columns: str, table: str) -> None:
    types = [{"int": int, "float": float, "string": str}[each.split()[1]] for each in columns.split(", ")]
    rows = [
        tuple(read(value) for read, value in zip(types, line.split("\t"), strict=True))
        for line in text.splitlines()
        if line
    ]
    session.createDataFrame(rows, columns).coalesce(1).writeTo(f"lake.{HOME}.{table}").create()


def _query_tables(database: str, archive: zipfile.ZipFile) -> Mapping[str, str]:
    """Return the tables of a benchmark, each with its columns."""
    if database == "ssb":
        return _SSB
    name = {"tpcds": "TPCDSSchema", "tpch": "TPCHBase"}[database]
    text = archive.read(f"org/apache/spark/sql/{name}.scala").decode()
    bodies = {table: re.sub(r"\s*\|", " ", body).strip() for table, body in _SCHEMA.findall(text)}
    return {table: found[1] if (found := _CREATE.search(body)) else body for table, body in bodies.items()}


def _create_filled(session: Any, path: str, table: str, columns: str) -> None:
    session.sql(f"CREATE TABLE {path} ({columns})").collect()
    values = ", ".join(f"{value_of(name, kind.upper(), table)} AS `{name}`" for name, kind in _COLUMN.findall(columns))
    rows = _ROWS.get(table, _OTHER_ROWS)
    session.sql(f"INSERT INTO {path} SELECT {values} FROM range(0, {rows}, 1, 1)").collect()  # noqa: S608 (constants of this module and Spark's names)


def value_of(column: str, kind: str, table: str) -> str:
    """Return an expression that gives a column small, plausible values, the same on every server."""
    hashed = f"pmod(hash(id, '{column}'), {{}})"
    key = column.split("_", 1)[-1]
    if kind in {"INT", "BIGINT", "INTEGER"}:
        if key == "year":
            return f"CAST(1998 + pmod(id, 5) AS {kind})"
        if key in {"moy", "dom", "qoy", "dow", "month_seq"}:
            return f"CAST(1 + pmod(id, 12) AS {kind})"
        is_own_key = key in _OWN_KEYS and table[0] == column[0]
        return f"CAST(id AS {kind})" if is_own_key else f"CAST({hashed.format(60)} AS {kind})"
    if kind == "DATE":
        return f"date_add(DATE'1998-01-01', {hashed.format(1500)})"
    if kind.startswith("DECIMAL") or kind in {"DOUBLE", "FLOAT"}:
        return f"CAST({hashed.format(9000)} / 100 AS {kind})"
    return f"CAST(concat('{column[0]}', {hashed.format(9)}) AS STRING)"
