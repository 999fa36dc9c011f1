"""Queries on Spark: each mode, backfills, and the tables that they read."""

from typing import Any

import pytest
from pydantic import ValidationError
from pyspark.errors import PySparkException

from headgate.cli.demo.data import DemoError
from headgate.facts.ids import RunId
from headgate.pipelines.definitions.context import Range
from headgate.pipelines.definitions.select import InputsError
from headgate.pipelines.kinds import parse_definition
from headgate.pipelines.kinds.query import QueryError
from tests.pipelines.spark_deployment import ByHand


def query(name: str, sql: str, *inputs: str, **more: Any) -> dict[str, Any]:
    """A query with this name, which writes the table of the same name."""
    return {"kind": "query", "name": name, "into": f"lake.trusted.{name}", "inputs": inputs, "sql": sql, **more}


class TestAQuery:
    def test_a_query_needs_keys_exactly_when_it_merges(self) -> None:
        for wrong, fault in (({"mode": "merge"}, "but `keys` is empty"), ({"keys": ["k"]}, "`keys` has no meaning")):
            with pytest.raises(ValidationError, match=fault):
                parse_definition(query("q", "SELECT 1", "lake.raw.t", **wrong))


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def _tables(lake: ByHand) -> None:
        lake.spark.sql("CREATE TABLE lake.raw.t AS SELECT 1 AS k, 'a' AS day UNION ALL SELECT 2, 'b'")
        lake.spark.sql("CREATE TABLE lake.raw.other AS SELECT 1 AS k")
        lake.spark.sql("CREATE VIEW lake.raw.v AS SELECT k FROM lake.raw.t")

    def test_a_query_replaces_all_rows_by_default(self, lake: ByHand) -> None:
        definition = query("whole", "SELECT k FROM lake.raw.t -- all;", "lake.raw.t")

        told = [lake.run(definition) for _ in range(2)]

        assert [each.metrics for each in told] == [{"rows.lake.trusted.whole": 2}] * 2
        assert lake.rows("SELECT k FROM lake.trusted.whole ORDER BY k") == [(1,), (2,)]

    def test_a_query_appends_the_rows_of_a_range_once_for_each_run(self, lake: ByHand) -> None:
        sql = "SELECT k FROM lake.raw.t WHERE day >= :since AND day < :until"
        definition = query("added", sql, "lake.raw.t", mode="append")

        lake.run(definition, run=RunId("run_added"), part=Range("a", "b"), again=True)
        told = lake.run(definition, run=RunId("run_added"), part=Range("a", "b"))
        lake.run(definition, part=Range("b", "c"))

        assert told.lines == ["an earlier attempt has written lake.trusted.added; skipping it"]
        assert lake.rows("SELECT k FROM lake.trusted.added ORDER BY k") == [(1,), (2,)]

    def test_a_query_merges_by_key_and_treats_null_as_a_key(self, lake: ByHand) -> None:
        values = "(VALUES (1, {0}), (NULL, {0}))"
        sql = "SELECT v.* FROM {values} AS v (k, n) WHERE EXISTS (SELECT 1 FROM lake.raw.other)"
        for n in ("1", "2"):
            text = sql.format(values=values.format(n))
            lake.run(query("merged", text, "lake.raw.other", mode="merge", keys=["k"]))
        twice = sql.format(values="(VALUES (7, 1), (7, 2))")

        with pytest.raises(QueryError, match="more than one row for the key `k` 7"):
            lake.run(query("merged", twice, "lake.raw.other", mode="merge", keys=["k"]))

        assert lake.rows("SELECT * FROM lake.trusted.merged ORDER BY k") == [(None, 2), (1, 2)]

    def test_a_query_that_replaces_the_table_refuses_a_range(self, lake: ByHand) -> None:
        with pytest.raises(QueryError, match="the mode `full` cannot be backfilled"):
            lake.run(query("parts", "SELECT k FROM lake.raw.t", "lake.raw.t"), part=Range("a", "b"))

    def test_a_query_that_does_not_read_a_declared_input_fails(self, lake: ByHand) -> None:
        inputs = ("lake.raw.t", "lake.raw.other")
        both = query("less", "SELECT k FROM lake.raw.t JOIN lake.raw.other USING (k)", *inputs)

        with pytest.raises(InputsError, match=r"lists `lake\.raw\.other`, which the SELECT does not read"):
            lake.run(query("less", "SELECT k FROM lake.raw.t", *inputs), saved=both)

    def test_a_query_that_reads_an_undeclared_table_is_refused(self, lake: ByHand) -> None:
        one = query("more", "SELECT k FROM lake.raw.t", "lake.raw.t")

        with pytest.raises(PySparkException) as raised:
            lake.run(query("more", "SELECT k FROM lake.raw.t JOIN lake.raw.other USING (k)", "lake.raw.t"), saved=one)

        assert raised.value.getSqlState() == "42501"

    def test_a_query_of_a_view_has_to_declare_the_view_and_its_tables(self, lake: ByHand) -> None:
        lake.run(query("viewed", "SELECT k FROM lake.raw.v", "lake.raw.v", "lake.raw.t"))

        with pytest.raises(DemoError, match=r"lake\.raw\.t"):
            lake.save(query("viewed", "SELECT k FROM lake.raw.v", "lake.raw.v"))
