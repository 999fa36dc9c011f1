"""Descriptions of a table for a principal that may describe but not read it: they contain no data."""

import re
from collections.abc import Callable

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness, Need

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

DESCRIBER = "hgs_describer"
TABLE = "lake.raw.described"
SHOWN = {
    "describe extended": f"DESCRIBE EXTENDED {TABLE}",
    "describe formatted": f"DESCRIBE FORMATTED {TABLE}",
    "describe a column": f"DESCRIBE EXTENDED {TABLE} n",
    "properties": f"SHOW TBLPROPERTIES {TABLE}",
    "one property": f"SHOW TBLPROPERTIES {TABLE} ('current-snapshot-id')",
    "create table": f"SHOW CREATE TABLE {TABLE}",
    "tables extended": "SHOW TABLE EXTENDED IN lake.raw LIKE 'described'",
    "files": f"DESCRIBE EXTENDED {TABLE}.files",
    "snapshots": f"DESCRIBE EXTENDED {TABLE}.snapshots",
    "partitions": f"DESCRIBE EXTENDED {TABLE}.partitions",
    "entries": f"DESCRIBE EXTENDED {TABLE}.entries",
    "data files": f"DESCRIBE EXTENDED {TABLE}.all_data_files",
    "a branch": f"DESCRIBE EXTENDED {TABLE}.branch_main",
}
REFUSED_WITHOUT_READ = {
    "rows": f"SELECT count(*) FROM {TABLE}",
    "snapshots": f"SELECT * FROM {TABLE}.snapshots",
    "partitions": f"SHOW PARTITIONS {TABLE}",
    "analyze": f"ANALYZE TABLE {TABLE} COMPUTE STATISTICS",
    "explain": f"EXPLAIN COST SELECT * FROM {TABLE}",
}


def describes(handle: str, need: Need) -> bool:
    """Allow everything for the admin, and only descriptions for other callers."""
    return handle == ADMIN or need["action"].endswith((".describe", "discover"))


@pytest.fixture
def described(lake: DriverHarness) -> Callable[[str], SparkSession]:
    admin = lake.session(ADMIN)
    admin.sql(f"CREATE OR REPLACE TABLE {TABLE} (n INT, p INT) USING iceberg PARTITIONED BY (p)").collect()
    admin.sql(f"INSERT INTO {TABLE} SELECT id, id % 2 FROM range(4321)").collect()
    lake.decisions.rule = describes
    return lake.session


def texts(spark: SparkSession, statement: str) -> str:
    """Return all rows of a statement as one text."""
    return "\n".join(str(tuple(row)) for row in spark.sql(statement).collect())


def tells(shown: str, snapshot: int) -> list[str]:
    """Return the parts of a text that reveal data."""
    return re.findall(rf"Statistics|4321|\d+ (?:rows|bytes)|current-snapshot-id=|{snapshot}", shown)


def test_a_user_without_the_right_to_read_is_shown_columns_and_no_data(
    described: Callable[[str], SparkSession],
) -> None:
    snapshot = described(ADMIN).sql(f"SELECT snapshot_id FROM {TABLE}.snapshots").collect()[0][0]
    describer = described(DESCRIBER)

    found = {name: tells(texts(describer, statement), snapshot) for name, statement in SHOWN.items()}

    assert {name: what for name, what in found.items() if what} == {}
    assert "('n', 'int', None)" in texts(describer, SHOWN["describe extended"])
    assert "Type" in texts(describer, SHOWN["describe extended"])


def test_a_user_with_the_right_to_read_is_shown_the_statistics(described: Callable[[str], SparkSession]) -> None:
    assert "4321 rows" in texts(described(ADMIN), SHOWN["describe extended"])
    assert "current-snapshot-id" in texts(described(ADMIN), SHOWN["properties"])


def test_the_right_to_read_is_checked_in_the_operation_that_shows_statistics(
    lake: DriverHarness, described: Callable[[str], SparkSession]
) -> None:
    spark = described(ADMIN)
    texts(spark, SHOWN["properties"])
    lake.decisions.operations.clear()

    texts(spark, SHOWN["describe extended"])

    assert lake.decisions.operations
    assert None not in lake.decisions.operations


def test_spark_describes_no_iceberg_table_as_json(described: Callable[[str], SparkSession]) -> None:
    # When Spark supports this statement, `DescribeWithoutData` must remove the data from its result too.
    with pytest.raises(PySparkException, match="NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"):
        texts(described(DESCRIBER), f"DESCRIBE EXTENDED {TABLE} AS JSON")


@pytest.mark.parametrize("statement", REFUSED_WITHOUT_READ.values(), ids=REFUSED_WITHOUT_READ)
def test_a_statement_that_shows_data_needs_the_right_to_read(
    described: Callable[[str], SparkSession], statement: str
) -> None:
    with pytest.raises(PySparkException) as caught:
        described(DESCRIBER).sql(statement).collect()

    assert caught.value.getSqlState() == REFUSED
