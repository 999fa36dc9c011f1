"""CALL: the privileges that a procedure needs on its table, the procedures that are always refused, and real calls."""

import os
import time
import zipfile
from pathlib import Path

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from headgate.spark.toolchain.guard_build import SOURCES
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.bytecode import read
from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness
from tests.spark.guard.plan_page import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"
ALTER_WRITE = {"table.alter", "table.insert", "table.delete_rows"}
READ = {"table.select"}


def snapshots(spark: SparkSession) -> list[int]:
    """Return the snapshots of a new table `lake.raw.kept` with three rows in three files."""
    spark.sql("CREATE OR REPLACE TABLE lake.raw.kept (a INT, b STRING)").collect()
    for row in range(3):
        spark.sql(f"INSERT INTO lake.raw.kept VALUES ({row}, 'x')").collect()
    history = "SELECT snapshot_id FROM lake.raw.kept.history WHERE is_current_ancestor ORDER BY made_current_at"
    rows = spark.sql(history).collect()
    return [row.snapshot_id for row in rows]


def refused(lake: DriverHarness, handle: str, statement: str) -> str:
    """Return the message with which a statement is refused; fail if it is not refused, or changes something."""
    before = lake.files()
    with pytest.raises(PySparkException) as caught:
        lake.session(handle).sql(statement).collect()
    assert caught.value.getSqlState() == REFUSED, caught.value
    assert lake.files() == before
    return str(caught.value)


CALLS = {
    "ancestors_of('raw.kept')": READ,
    "ancestors_of(snapshot_id => NULL, table => 'raw.kept')": READ,
    "create_changelog_view(table => 'raw.kept', changelog_view => 'changed')": READ,
    "rewrite_data_files(table => 'lake.raw.kept', where => 'a >= 0', options => map('rewrite-all', 'true'))": ALTER_WRITE
    | READ,
    "rewrite_manifests('raw.kept')": ALTER_WRITE,
    "rewrite_position_delete_files('raw.kept')": ALTER_WRITE | READ,
    "compute_table_stats('raw.kept')": ALTER_WRITE | READ,
    "remove_orphan_files(table => 'raw.kept', dry_run => true)": ALTER_WRITE | READ,
    "expire_snapshots(table => 'raw.kept', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)": ALTER_WRITE,
}


class TestNeeds:
    """A procedure needs the privilege of its change on the table that it is called for."""

    def test_a_procedure_needs_the_rights_on_its_table_and_runs(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        first = snapshots(spark)[0]
        calls = {f"rollback_to_snapshot('raw.kept', {first})": ALTER_WRITE, **CALLS}
        for call, actions in calls.items():
            lake.decisions.asked.clear()

            spark.sql(f"CALL lake.system.{call}").collect()

            assert lake.decisions.names() == {f"{action} lake.raw.kept" for action in actions}, call

    @pytest.mark.parametrize("missing", sorted(ALTER_WRITE))
    def test_a_procedure_is_refused_if_one_right_is_missing(self, lake: DriverHarness, missing: str) -> None:
        lake.decisions.rule = lambda _, need: need["action"] != missing

        refused(lake, READER, "CALL lake.system.expire_snapshots('raw.flights')")

    @pytest.mark.parametrize(
        "call",
        [
            "compute_partition_stats('raw.flights')",
            "compute_table_stats('raw.flights')",
            "remove_orphan_files('raw.flights')",
            "rewrite_data_files(table => 'raw.flights', where => 'year = 2012')",
            "rewrite_position_delete_files(table => 'raw.flights', where => 'year = 2012')",
        ],
    )
    def test_a_procedure_that_reads_rows_or_values_needs_the_right_to_read(
        self, lake: DriverHarness, call: str
    ) -> None:
        lake.decisions.rule = lambda _, need: need["action"] != "table.select"

        refused(lake, READER, f"CALL lake.system.{call}")

    def test_a_procedure_on_a_hidden_table_is_refused_like_one_on_a_missing_table(self, lake: DriverHarness) -> None:
        call = "CALL lake.system.rollback_to_snapshot('secret.{}', 1)"

        assert refused(lake, READER, call.format("salaries")) == refused(lake, READER, call.format("nothing"))

    def test_a_table_name_in_a_call_is_resolved_in_the_session(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        spark.sql("USE lake.raw").collect()
        lake.decisions.asked.clear()

        spark.sql("CALL system.ancestors_of('flights')").collect()

        assert lake.decisions.names() == {"table.select lake.raw.flights"}


class TestForbidden:
    """Procedures that no user may call, whatever roles the user holds."""

    @pytest.mark.parametrize(
        "call",
        [
            "lake.system.add_files('raw.flights', '`parquet`.`/tmp/x`')",
            "lake.system.migrate('raw.flights')",
            "lake.system.register_table('raw.stolen', '/tmp/v1.metadata.json')",
            "lake.system.remove_orphan_files(table => 'raw.flights', location => '/tmp')",
            "lake.system.remove_orphan_files('raw.flights', TIMESTAMP '2020-01-01', '/tmp', true)",
            "lake.system.remove_orphan_files(table => 'raw.flights', `-location` => '/tmp')",
            "lake.system.remove_orphan_files(table => 'raw.flights', file_list_view => 'files')",
            "lake.system.remove_orphan_files(table => 'raw.flights', prefix_mismatch_mode => 'DELETE')",
            "lake.system.rewrite_table_path('raw.flights', '/a', '/b')",
            "lake.system.snapshot('secret.salaries', 'raw.snap')",
            "lake.system.unheard_of('raw.flights')",
            "lake.raw.ancestors_of('raw.flights')",
            "spark_catalog.system.ancestors_of('raw.flights')",
            "lake.system.ancestors_of('spark_catalog.raw.flights')",
            "lake.system.ancestors_of('lake.`/tmp/x`')",
            "lake.system.ancestors_of('raw.' || 'flights')",
            "lake.system.ancestors_of((SELECT 'raw.flights'))",
            "lake.system.ancestors_of()",
            "lake.system.ancestors_of(table => 'raw.flights', unheard_of => 1)",
            "lake.system.ancestors_of('raw.flights', 1, 2)",
            "lake.system.ancestors_of('raw.flights', table => 'secret.salaries')",
        ],
    )
    def test_a_forbidden_procedure_is_refused_even_to_the_admin(self, lake: DriverHarness, call: str) -> None:
        refused(lake, ADMIN, f"CALL {call}")

    @pytest.mark.parametrize(
        "where",
        [
            "carrier IN (SELECT emp FROM lake.secret.salaries)",
            "reflect('java.lang.System', 'getProperty', carrier) = '1'",
        ],
    )
    def test_a_forbidden_expression_in_the_condition_of_a_rewrite_is_refused(
        self, lake: DriverHarness, where: str
    ) -> None:
        quoted = where.replace("'", "\\'")

        refused(lake, ADMIN, f"CALL lake.system.rewrite_data_files(table => 'raw.flights', where => '{quoted}')")

    @pytest.mark.parametrize(
        "call",
        [
            "rewrite_data_files('raw.flights', options => map('max-concurrent-file-group-rewrites', '100000'))",
            "rewrite_data_files('raw.flights', 'sort', 'zorder(carrier)', map('Var-Length-Contribution', '2000000000'))",
            "rewrite_data_files('raw.flights', options => map('shuffle-partitions-per-file', '3000000'))",
            "rewrite_data_files('raw.flights', options => map('max-concurrent-file-group-rewrites', 'many'))",
            "rewrite_data_files('raw.flights', options => map('unheard-of', '1'))",
            "rewrite_position_delete_files('raw.flights', map('max-concurrent-file-group-rewrites', '100000'))",
            "expire_snapshots(table => 'raw.flights', max_concurrent_deletes => 2000000000)",
            "create_changelog_view('raw.flights', 'changed', map('path', '/tmp/x'))",
        ],
    )
    def test_an_option_of_a_procedure_that_is_unlisted_or_too_large_is_refused(
        self, lake: DriverHarness, call: str
    ) -> None:
        assert "option `" in refused(lake, ADMIN, f"CALL lake.system.{call}")

    def test_a_catalog_that_a_procedure_registers_cannot_be_read(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        snapshots(spark)
        spark.sql("CALL lake.system.rewrite_data_files('raw.kept', options => map('rewrite-all', 'true'))").collect()

        for catalog in ("default_rewrite_catalog", "default_iceberg"):
            with pytest.raises(PySparkException) as caught:
                spark.sql(f"SELECT * FROM {catalog}.x").collect()
            assert caught.value.getSqlState() == REFUSED


class TestOrphans:
    """Files that no snapshot names are removed below the table's own folder, if they are old."""

    @staticmethod
    def leave(lake: DriverHarness, table: str, days: int) -> Path:
        """Leave a file of this age beside the data of a table."""
        row = lake.session(ADMIN).sql(f"SELECT file_path FROM lake.raw.{table}.files").collect()[0]
        orphan = Path(row.file_path.removeprefix("file:")).parent / f"orphan-{days}.parquet"
        orphan.write_bytes(b"x")
        written = time.time() - days * 86400
        os.utime(orphan, times=(written, written))
        return orphan

    def test_old_files_of_the_table_are_removed_and_no_others(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        snapshots(spark)
        old, young, other = self.leave(lake, "kept", 9), self.leave(lake, "kept", 0), self.leave(lake, "flights", 9)

        found = spark.sql("CALL lake.system.remove_orphan_files(table => 'raw.kept', dry_run => true)").collect()
        assert [row[0].endswith(old.name) for row in found] == [True]
        assert old.exists()
        spark.sql("CALL lake.system.remove_orphan_files('raw.kept')").collect()

        assert [each.exists() for each in (old, young, other)] == [False, True, True]
        assert spark.table("lake.raw.kept").count() == 3
        other.unlink()

    def test_files_of_the_last_day_cannot_be_removed(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        snapshots(spark)
        young = self.leave(lake, "kept", 0)

        with pytest.raises(PySparkException):
            spark.sql(
                "CALL lake.system.remove_orphan_files(table => 'raw.kept', older_than => now() + INTERVAL 1 DAY)"
            ).collect()

        assert young.exists()


class TestChanges:
    """A view of a table's changes belongs to the session, and each use of it reads the table."""

    def test_a_changelog_view_needs_the_right_to_read_its_table_at_every_use(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        snapshots(spark)
        spark.sql("CALL lake.system.create_changelog_view(table => 'raw.kept', changelog_view => 'changed')").collect()
        assert spark.table("changed").count() == 3

        lake.decisions.rule = lambda *_: False
        with pytest.raises(PySparkException) as caught:
            spark.table("changed").count()
        assert caught.value.getSqlState() == REFUSED


def test_every_option_of_a_rewrite_is_listed(toolchain: Toolchain) -> None:
    listed = (TABLES / "procedure-options.txt").read_text(encoding="utf-8").splitlines()
    packages = ("org/apache/iceberg/actions/", "org/apache/iceberg/spark/actions/")
    classes = [each for package in packages for each in read(toolchain.iceberg_jar, package).values()]
    options = {option for each in classes for option in each.loads("validOptions")}

    assert options
    assert options <= {line.split()[1] for line in listed if not line.startswith("#")}


def test_every_procedure_of_iceberg_is_classified(toolchain: Toolchain) -> None:
    listed = (SOURCES / "resources/headgate/procedures.txt").read_text(encoding="utf-8").splitlines()
    classified = {line.split()[0].replace("_", "") for line in listed if not line.startswith("#")}
    prefix, suffix = "org/apache/iceberg/spark/procedures/", "Procedure.class"
    with zipfile.ZipFile(toolchain.iceberg_jar) as jar:
        names = [name for name in jar.namelist() if name.startswith(prefix) and name.endswith(suffix)]
    found = {name.removeprefix(prefix).removesuffix(suffix).lower() for name in names}
    called_otherwise = {"fastforwardbranch": "fastforward", "snapshottable": "snapshot", "migratetable": "migrate"}

    assert {called_otherwise.get(name, name) for name in found - {"base"}} == classified
