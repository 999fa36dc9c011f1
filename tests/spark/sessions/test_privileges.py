"""The privileges that each kind of statement needs, row by row of `needs.jsonl`: all are required, and no others.

`never.sql` has statements that no user may run, one a line.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.spark.guard.driver_harness import (
    ADMIN,
    REFUSED,
    DecisionService,
    DriverHarness,
    Need,
    everything_to_the_admin,
)

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

ROWS = [json.loads(line) for line in Path(__file__).with_name("needs.jsonl").read_text("utf-8").splitlines()]
NEVER = Path(__file__).with_name("never.sql").read_text("utf-8").splitlines()
VIEWS = (
    "CREATE OR REPLACE VIEW lake.trusted.v AS SELECT carrier FROM lake.raw.flights",
    "CREATE OR REPLACE VIEW lake.trusted.vv AS SELECT * FROM lake.trusted.v",
)
SETUP = (
    "CREATE SCHEMA lake.raw",
    "CREATE SCHEMA lake.trusted",
    "CREATE SCHEMA lake.secret",
    "CREATE TABLE lake.raw.flights (carrier STRING, dep_delay DOUBLE, year INT) PARTITIONED BY (year)",
    "CREATE TABLE lake.trusted.delays (carrier STRING, avg_delay DOUBLE)",
    "CREATE TABLE lake.secret.salaries (emp STRING, amount DOUBLE)",
    "INSERT INTO lake.trusted.delays VALUES ('AA', 1.0)",
    "ALTER TABLE lake.trusted.delays CREATE BRANCH dev",
    *VIEWS,
    "CREATE TEMPORARY VIEW flown AS SELECT carrier FROM lake.raw.flights",
    "DECLARE VARIABLE m DOUBLE",
    "DECLARE VARIABLE named STRING DEFAULT 'lake.secret.salaries'",
    "CREATE TEMPORARY FUNCTION top_pay() RETURNS DOUBLE RETURN (SELECT max(amount) FROM lake.secret.salaries)",
    "CREATE TEMPORARY FUNCTION rich() RETURNS TABLE (e STRING) RETURN SELECT emp FROM lake.secret.salaries",
)


TARGET = "lake.trusted.delays"
READ = "table.select lake.raw.flights"
FRAMES: dict[str, tuple[Callable[[DataFrame], object], set[str]]] = {
    "saveAsTable, appending": (
        lambda rows: rows.write.mode("append").saveAsTable(TARGET),
        {"database.create_table lake.trusted", f"table.insert {TARGET}"},
    ),
    "saveAsTable, overwriting": (
        lambda rows: rows.write.mode("overwrite").saveAsTable(TARGET),
        {"database.create_table lake.trusted", f"table.drop {TARGET}"},
    ),
    "saveAsTable of what is not there": (
        lambda rows: rows.write.saveAsTable("lake.trusted.fresh"),
        {"database.create_table lake.trusted"},
    ),
    "insertInto": (lambda rows: rows.write.insertInto(TARGET), {f"table.insert {TARGET}"}),
    "append": (lambda rows: rows.writeTo(TARGET).append(), {f"table.insert {TARGET}"}),
    "overwrite": (
        lambda rows: rows.writeTo(TARGET).overwrite(sf.expr("true")),
        {f"table.insert {TARGET}", f"table.delete_rows {TARGET}"},
    ),
    "overwritePartitions": (
        lambda rows: rows.writeTo(TARGET).overwritePartitions(),
        {f"table.insert {TARGET}", f"table.delete_rows {TARGET}"},
    ),
    "createOrReplace": (
        lambda rows: rows.writeTo(TARGET).createOrReplace(),
        {"database.create_table lake.trusted", f"table.drop {TARGET}"},
    ),
    "mergeInto": (
        lambda rows: rows.alias("s").mergeInto(TARGET, sf.expr("s.avg_delay > 0")).whenNotMatched().insertAll().merge(),
        {f"table.select {TARGET}", f"table.insert {TARGET}"},
    ),
}


@dataclass
class Asker:
    """A session over a lake with views, and the record of the privileges that its statements need."""

    spark: SparkSession
    decisions: DecisionService

    def run(self, statement: str) -> str | None:
        """Run the statement; return the SQLSTATE of its error, or None."""
        return self.attempt(lambda: self.spark.sql(statement).collect())

    def attempt(self, act: Callable[[], object]) -> str | None:
        """Call the function; return the SQLSTATE of its error, or None."""
        try:
            act()
        except PySparkException as error:
            return error.getSqlState() or "error"
        return None


@pytest.fixture(scope="module")
def prepared(running: DriverHarness) -> tuple[DriverHarness, SparkSession]:
    running.decisions.rule = everything_to_the_admin
    spark = running.session(ADMIN)
    # The folder of a test's lake does not store views; this catalog does, for the life of the session.
    spark.conf.set("spark.sql.catalog.lake.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    for statement in SETUP:
        spark.sql(statement).collect()
    return running, spark


@pytest.fixture
def asker(prepared: tuple[DriverHarness, SparkSession]) -> Iterator[Asker]:
    made, spark = prepared
    made.decisions.asked.clear()
    yield Asker(spark, made.decisions)
    made.decisions.rule = everything_to_the_admin
    spark.catalog.setCurrentCatalog("lake")


def of(row: dict[str, Any]) -> str:
    """Return the test id of a row."""
    return row["statement"]


def named(need: Need) -> str:
    """Return a required privilege in the notation of the rows."""
    return f"{need['action']} {'.'.join(need['object'])}"


@pytest.mark.parametrize("row", [row for row in ROWS if "runs" in row], ids=of)
def test_each_statement_is_checked_for_exactly_its_listed_rights(asker: Asker, row: dict[str, Any]) -> None:
    assert asker.run(row["statement"]) is None
    assert sorted(asker.decisions.names()) == row["needs"]


@pytest.mark.parametrize("row", [row for row in ROWS if row["needs"]], ids=of)
def test_each_statement_is_refused_if_one_of_its_rights_is_missing(asker: Asker, row: dict[str, Any]) -> None:
    for missing in row["needs"]:
        asker.decisions.rule = lambda _, need, missing=missing: named(need) != missing
        assert asker.run(row["statement"]) == REFUSED, missing

    assert sorted(asker.decisions.names()) == row["needs"]


@pytest.mark.parametrize("write", FRAMES)
def test_each_write_of_a_frame_is_refused_if_one_of_its_rights_is_missing(asker: Asker, write: str) -> None:
    act, needs = FRAMES[write]
    rows = asker.spark.table("lake.raw.flights").selectExpr("carrier", "dep_delay AS avg_delay")
    for missing in needs | {READ}:
        asker.decisions.rule = lambda _, need, missing=missing: named(need) != missing
        assert asker.attempt(lambda: act(rows)) == REFUSED, missing

    assert asker.decisions.names() == needs | {READ}


@pytest.mark.parametrize("statement", NEVER)
def test_each_forbidden_statement_is_refused_to_every_user(asker: Asker, statement: str) -> None:
    assert asker.run(statement) == REFUSED


@pytest.fixture
def views(asker: Asker) -> None:
    """Create the views again, because allowed statements drop and alter them."""
    for statement in VIEWS:
        asker.run(statement)


@pytest.mark.soak
@pytest.mark.usefixtures("views")
@pytest.mark.parametrize("row", ROWS, ids=of)
def test_each_statement_is_allowed_to_a_user_with_exactly_its_rights(asker: Asker, row: dict[str, Any]) -> None:
    asker.decisions.rule = lambda _, need: need["action"] == "discover" or named(need) in row["needs"]

    assert asker.run(row["statement"]) != REFUSED
