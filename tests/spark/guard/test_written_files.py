"""Written files: the guard requests a decision before Spark touches any of them, and no statement avoids that."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = pytest.mark.spark

SOMEBODY = "hgs_somebody"


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_a_write_of_files_needs_the_rights_on_its_path_and_its_source(
    lake: DriverHarness, tmp_path: Path, format: str
) -> None:
    flights = lake.session(ADMIN).table("lake.raw.flights")
    lake.decisions.asked.clear()

    flights.write.format(format).mode("overwrite").option("compression", "gzip").save(f"{tmp_path}/out")

    assert lake.decisions.names() == {f"path.write file:{tmp_path}/out", "table.select lake.raw.flights"}
    assert any(".gz" in file.name for file in (tmp_path / "out").iterdir())


def test_each_save_mode_has_its_usual_effect(lake: DriverHarness, tmp_path: Path) -> None:
    spark, out = lake.session(ADMIN), f"{tmp_path}/out"
    for mode, count in (("overwrite", 2), ("append", 4), ("ignore", 4), ("overwrite", 2)):
        spark.range(2).write.mode(mode).json(out)
        assert spark.read.schema("id long").json(out).count() == count
    with pytest.raises(PySparkException, match="PATH_ALREADY_EXISTS"):
        spark.range(2).write.mode("error").json(out)


@pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
def test_a_write_to_a_refused_path_changes_no_file(lake: DriverHarness, tmp_path: Path, mode: str) -> None:
    kept = tmp_path / "out" / "kept.csv"
    kept.parent.mkdir()
    kept.write_text("x\n")

    with pytest.raises(PySparkException) as caught:
        lake.session(SOMEBODY).range(1).write.mode(mode).csv(str(kept.parent))

    assert caught.value.getSqlState() == REFUSED
    assert [file.name for file in kept.parent.iterdir()] == ["kept.csv"]


def test_the_right_to_write_a_path_does_not_permit_reading_a_table(lake: DriverHarness, tmp_path: Path) -> None:
    lake.decisions.rule = lambda handle, need: handle == ADMIN or need["action"] == "path.write"

    with pytest.raises(PySparkException) as caught:
        lake.session(SOMEBODY).table("lake.secret.salaries").write.csv(f"{tmp_path}/out")

    assert caught.value.getSqlState() == REFUSED
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "option",
    [{"compression": "io.headgate.guard.driver.DriverMain"}, {"parquet.crypto.factory.class": "x"}, {"partitionOverwriteMode": "dynamic"},
     {"spark.sql.parquet.output.committer.class": "x"}, {"url": "jdbc:x"}],
)  # fmt: skip
def test_a_write_of_files_with_an_unreviewed_option_is_refused(
    lake: DriverHarness, tmp_path: Path, option: dict[str, str]
) -> None:
    with pytest.raises(PySparkException) as caught:
        lake.session(ADMIN).range(1).write.options(**option).parquet(f"{tmp_path}/out")

    assert caught.value.getSqlState() == REFUSED
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "statement",
    ["INSERT OVERWRITE DIRECTORY '{0}/out' USING csv SELECT 1", "INSERT OVERWRITE LOCAL DIRECTORY '{0}/out' USING csv SELECT 1",
     "CREATE TABLE spark_catalog.default.t USING csv LOCATION '{0}/out' AS SELECT 1"],
)  # fmt: skip
def test_sql_that_writes_files_is_refused(lake: DriverHarness, tmp_path: Path, statement: str) -> None:
    with pytest.raises(PySparkException) as caught:
        lake.session(ADMIN).sql(statement.format(tmp_path)).collect()

    assert caught.value.getSqlState() == REFUSED
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["orc", "avro", "binaryFile", "xml", "jdbc", "noop2"])
def test_files_of_an_unlisted_format_are_not_written(lake: DriverHarness, tmp_path: Path, format: str) -> None:
    with pytest.raises(PySparkException):
        lake.session(ADMIN).range(1).write.format(format).save(f"{tmp_path}/out")

    assert not (tmp_path / "out").exists()
