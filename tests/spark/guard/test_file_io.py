"""Containment: a table opens only files inside its own location, whatever its metadata contains."""

from pathlib import Path

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def table(lake: DriverHarness, spark: SparkSession, name: str) -> Path:
    """Create a table with one row and return its data file."""
    spark.sql(f"CREATE TABLE lake.raw.{name} AS SELECT 'x' AS a").collect()
    assert spark.table(f"lake.raw.{name}").count() == 1
    return next((lake.warehouse / "raw" / name / "data").glob("*.parquet"))


def refused(spark: SparkSession, statement: str) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    assert caught.value.getSqlState() == REFUSED, caught.value
    assert "outside the table's location" in str(caught.value)


def test_a_link_out_of_the_table_is_not_followed(lake: DriverHarness, tmp_path: Path) -> None:
    spark = lake.session(ADMIN)
    file = table(lake, spark, "linked")
    outside = file.rename(tmp_path / file.name)
    file.symlink_to(outside)

    refused(spark, "SELECT * FROM lake.raw.linked")


def test_a_link_within_the_table_is_followed(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    file = table(lake, spark, "moved")
    file.symlink_to(file.rename(file.with_name(f"was-{file.name}")))

    assert spark.table("lake.raw.moved").count() == 1


def test_a_folder_that_links_out_of_the_table_is_not_written_to(lake: DriverHarness, tmp_path: Path) -> None:
    spark = lake.session(ADMIN)
    data = table(lake, spark, "redirected").parent
    data.rename(tmp_path / "data")
    data.symlink_to(tmp_path / "data", target_is_directory=True)
    before = sorted((tmp_path / "data").iterdir())

    with pytest.raises(PySparkException):
        spark.sql("INSERT INTO lake.raw.redirected VALUES ('y')").collect()

    assert sorted((tmp_path / "data").iterdir()) == before


def test_a_file_outside_the_location_of_the_table_is_not_read(lake: DriverHarness, tmp_path: Path) -> None:
    spark = lake.session(ADMIN)
    metadata = table(lake, spark, "foreign").parents[1] / "metadata"
    described = max(metadata.glob("v*.metadata.json"))
    was = described.read_text()
    for checksum in metadata.glob(".*.metadata.json.crc"):
        checksum.unlink()
    for place in (
        str(tmp_path),
        f"file://{tmp_path}",
        f"{lake.warehouse}/../..{tmp_path}",
        f"{lake.warehouse}/%2e%2e/%2e%2e",
        f"{lake.warehouse}/%252e%252e/%252e%252e",
        f"{lake.warehouse}#",
        f"file://elsewhere{lake.warehouse}",
        f"{lake.warehouse}-beside",
        "http://127.0.0.1:9",
        "s3://bucket",
    ):
        described.write_text(was.replace(f"{metadata}/snap-", f"{place}/snap-"))

        refused(spark, "SELECT * FROM lake.raw.foreign")
