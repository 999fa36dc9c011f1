"""Table services on Spark: their effect on the files of their table, and that their runs can do nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.pipelines.kinds import parse_definition
from headgate.pipelines.kinds.table_service import KIND
from tests.pipelines.drop_folder import Drop

REFUSED = "42501"


def service(name: str, table: str, **more: Any) -> dict[str, Any]:
    """A compaction of a table of `raw`, unless `more` names another service."""
    what = {"table": f"lake.raw.{table}", "service": "compaction", "files": 2}
    return {"kind": "table_service", "name": name, **what, **more}


class TestADefinition:
    @pytest.mark.parametrize(
        "wrong",
        [{"by": ["a"]}, {"service": "clustering"}, {"service": "clustering", "by": ["a"], "z_order": True}],
        ids=str,
    )
    def test_a_service_with_invalid_clustering_options_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            parse_definition(service("s", "t", **wrong))


@pytest.mark.spark
class TestOnSpark:
    def made(self, drop: Drop, table: str) -> None:
        """Create a table of three rows in three files."""
        drop.lake.spark.sql(f"CREATE TABLE lake.raw.{table} (a INT, b STRING)").collect()
        for row in range(3):
            drop.lake.spark.sql(f"INSERT INTO lake.raw.{table} VALUES ({2 - row}, 'x')").collect()

    def run(self, drop: Drop, definition: dict[str, Any]) -> dict[str, float]:
        """Save a service on its table, execute one run of it, and return its metrics."""
        drop.lake.owner.call("PUT", f"/pipelines/{definition['name']}", definition, project=definition["table"])
        found = parse_definition(definition)
        with drop.lake.execution(definition["name"]) as (execution, told):
            assert KIND.run is not None
            KIND.run(found, execution)  # pyright: ignore[reportArgumentType] (it is of this kind)
        return told.metrics

    def counted(self, drop: Drop, what: str, table: str) -> int:
        """Return the number of files or snapshots of a table."""
        return drop.lake.rows(f"SELECT count(*) FROM lake.raw.{table}.{what}")[0][0]

    def test_compaction_leaves_one_file_and_cleaning_expires_old_snapshots(self, drop: Drop) -> None:
        self.made(drop, "small")

        compacted = self.run(drop, service("compact", "small"))
        cleaned = self.run(drop, service("clean", "small", service="cleaning", keep_days=0))

        assert (compacted["rewritten_data_files_count"], compacted["added_data_files_count"]) == (3, 1)
        assert self.counted(drop, "files", "small") == self.counted(drop, "snapshots", "small") == 1
        assert cleaned["deleted_data_files_count"] == 3
        assert [a for a, _ in drop.rows("small")] == [0, 1, 2]

    def test_clustering_sorts_the_rows_of_a_table(self, drop: Drop) -> None:
        self.made(drop, "mixed")

        for more in ({"by": ["a"]}, {"by": ["a", "b"], "z_order": True}):
            clustered = self.run(drop, service("cluster", "mixed", service="clustering", **more))
            assert clustered["added_data_files_count"] == 1

        assert [a for (a,) in drop.lake.rows("SELECT a FROM lake.raw.mixed")] == [0, 1, 2]

    def test_a_run_of_a_table_service_may_do_nothing_else(self, drop: Drop) -> None:
        self.made(drop, "own")
        self.made(drop, "beside")
        self.run(drop, service("only", "own"))
        rewrite = "CALL lake.system.rewrite_data_files"
        tries = (
            "SELECT * FROM lake.raw.own",
            "SELECT * FROM lake.raw.own.files",
            "INSERT INTO lake.raw.own VALUES (9, 'y')",
            "DELETE FROM lake.raw.own",
            "ALTER TABLE lake.raw.own ADD COLUMN c INT",
            "DROP TABLE lake.raw.own",
            f"{rewrite}('raw.beside')",
            f"{rewrite}(table => 'raw.own', where => 'a > 0')",
            f"{rewrite}(table => 'raw.own', branch => 'main')",
            "CALL lake.system.expire_snapshots('raw.own')",
            "CALL lake.system.rollback_to_snapshot('raw.own', 1)",
            "CALL lake.system.create_changelog_view('raw.own', 'changes')",
        )

        with drop.lake.execution("only") as (execution, _):
            for statement in tries:
                assert refusal(lambda spark, text=statement: spark.sql(text).collect(), execution.spark) == REFUSED, (
                    statement
                )
            stream = execution.spark.readStream
            assert refusal(lambda _: stream.table("lake.raw.own").isStreaming, execution.spark) == REFUSED

        assert [a for a, _ in drop.rows("own")] == [0, 1, 2]


def refusal(work: Callable[[SparkSession], object], spark: SparkSession) -> str | None:
    """Return the SQLSTATE of a call that must fail."""
    with pytest.raises(PySparkException) as raised:
        work(spark)
    return raised.value.getSqlState()
