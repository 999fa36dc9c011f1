"""Visualizations on Spark: the rows that a run stores."""

import json

import pytest

from headgate.pipelines.definitions.chart import ChartError
from tests.pipelines.spark_deployment import ByHand

pytestmark = pytest.mark.spark

SQL = """
SELECT n, CAST(1.50 AS DECIMAL(3, 2)) AS price, DATE'2024-01-02' AS day, X'00ff' AS bytes, map('a', n) AS m,
       CAST('NaN' AS DOUBLE) AS nothing, TIMESTAMP'2024-01-02 03:04:05Z' AS at, named_struct('x', array(n)) AS s
FROM lake.raw.shown
"""


def test_a_visualization_stores_at_most_5000_rows_as_json(lake: ByHand) -> None:
    lake.spark.sql("CREATE TABLE lake.raw.shown AS SELECT id AS n FROM range(5001)")
    chart = {"type": "point", "x": "n", "y": "price"}
    definition = {"kind": "visualization", "name": "shown", "inputs": ["lake.raw.shown"], "sql": SQL, "chart": chart}

    told = lake.run(definition)

    (kept,) = told.kept
    assert json.loads(json.dumps(kept)) == kept
    assert (len(kept["rows"]), kept["cut"], told.metrics) == (5000, True, {"rows": 5000})
    number, *row = kept["rows"][0]
    assert row[:5] == [1.5, "2024-01-02", "AP8=", {"a": number}, None]
    assert row[5].startswith("2024-01-02T")
    with pytest.raises(ChartError, match="no column `price`"):
        lake.run({**definition, "sql": "SELECT n FROM lake.raw.shown"})


def test_a_visualization_stores_only_rows_that_fit_into_one_answer(lake: ByHand) -> None:
    lake.spark.sql("CREATE TABLE lake.raw.wide AS SELECT id AS n FROM range(200)")
    chart = {"type": "point", "x": "n", "y": "n"}
    definition = {"kind": "visualization", "name": "wide", "inputs": ["lake.raw.wide"], "chart": chart}
    sql = "SELECT n, array_repeat(true, {0}) AS a FROM lake.raw.wide"

    told = lake.run({**definition, "sql": sql.format(100_000)})

    (kept,) = told.kept
    assert (len(kept["rows"]), kept["cut"]) == (2, True)
    with pytest.raises(ChartError, match="first row is larger than 4 MiB"):
        lake.run({**definition, "sql": sql.format(400_000)})
