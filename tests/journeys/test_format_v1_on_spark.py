"""Tables of format version 1 in Spark: changed by copy-on-write, evolved and maintained, then upgraded to versions 2 and 3."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.journeys.served_lake import MERGE_ON_READ, ServedLake, refused_state, rows_of, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

V1 = "TBLPROPERTIES ('format-version' = '1')"
MERGE = """
MERGE INTO lake.raw.changed t USING (SELECT 4L AS id UNION ALL SELECT 9L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET c = 'z' WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, 'n')
"""


def test_a_table_of_version_1_is_changed_evolved_and_maintained(served: ServedLake, spark: SparkSession) -> None:
    run(
        spark,
        f"CREATE TABLE lake.raw.changed (id BIGINT, c STRING) {V1}",
        "INSERT INTO lake.raw.changed SELECT id, 'x' FROM range(6)",
        "UPDATE lake.raw.changed SET c = 'y' WHERE id = 3",
        "DELETE FROM lake.raw.changed WHERE id = 1",
        MERGE,
        "ALTER TABLE lake.raw.changed ADD PARTITION FIELD bucket(2, id)",
        "INSERT INTO lake.raw.changed VALUES (20, 'b')",
        "ALTER TABLE lake.raw.changed ADD PARTITION FIELD c",
        "ALTER TABLE lake.raw.changed DROP PARTITION FIELD bucket(2, id)",
        "ALTER TABLE lake.raw.changed ADD COLUMN n INT",
        "INSERT INTO lake.raw.changed VALUES (21, 'c', 7)",
        "DELETE FROM lake.raw.changed WHERE id = 2",
    )
    read = "SELECT id, c, n FROM lake.raw.changed ORDER BY id"
    rows = [
        *((0, "x", None), (3, "y", None), (4, "z", None), (5, "x", None), (9, "n", None)),
        *((20, "b", None), (21, "c", 7)),
    ]
    assert rows_of(spark, read) == rows

    run(
        spark,
        "CALL lake.system.rewrite_data_files(table => 'raw.changed', options => map('rewrite-all', 'true'))",
        "CALL lake.system.rewrite_manifests('raw.changed')",
        "CALL lake.system.expire_snapshots(table => 'raw.changed', retain_last => 1, older_than => TIMESTAMP '2100-01-01')",
    )
    assert rows_of(spark, read) == rows
    assert rows_of(spark, "SELECT count(*) FROM lake.raw.changed.partitions") == [(6,)]
    metadata = served.metadata("changed")
    assert (metadata["format-version"], len(metadata["snapshots"])) == (1, 1)
    assert [each["transform"] for each in metadata["partition-spec"]] == ["void", "identity"]
    assert [each["name"] for each in metadata["schema"]["fields"]] == ["id", "c", "n"]
    table = served.pyiceberg().load_table("raw.changed")
    assert table.metadata.format_version == 1
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [each[0] for each in rows]


def test_a_table_of_version_1_is_created_from_rows_replaced_and_branched(
    served: ServedLake, spark: SparkSession
) -> None:
    run(
        spark,
        f"CREATE TABLE lake.raw.copied PARTITIONED BY (p) {V1} AS SELECT id, id % 2 AS p FROM range(4)",
        f"CREATE OR REPLACE TABLE lake.raw.copied PARTITIONED BY (bucket(2, id)) {V1} AS SELECT id, 1L AS p FROM range(3)",
        "ALTER TABLE lake.raw.copied CREATE BRANCH beside",
        "INSERT INTO lake.raw.copied.branch_beside VALUES (10, 1)",
        "CALL lake.system.fast_forward('raw.copied', 'main', 'beside')",
        "INSERT OVERWRITE lake.raw.copied SELECT id, p FROM lake.raw.copied WHERE id > 0",
    )

    assert rows_of(spark, "SELECT id FROM lake.raw.copied ORDER BY id") == [(1,), (2,), (10,)]
    assert served.metadata("copied")["format-version"] == 1


def test_a_table_of_version_1_has_no_delete_files(spark: SparkSession) -> None:
    run(
        spark,
        f"CREATE TABLE lake.raw.kept (id INT) TBLPROPERTIES ('format-version' = '1', {MERGE_ON_READ})",
        "INSERT INTO lake.raw.kept SELECT /*+ COALESCE(1) */ id FROM range(4)",
    )

    with pytest.raises(PySparkException):
        spark.sql("DELETE FROM lake.raw.kept WHERE id = 1").collect()
    assert rows_of(spark, "SELECT count(*) FROM lake.raw.kept") == [(4,)]


def test_a_table_of_version_1_is_upgraded_to_versions_2_and_3_and_never_back(
    served: ServedLake, spark: SparkSession
) -> None:
    for version, name in ((2, "two"), (3, "three")):
        run(
            spark,
            f"CREATE TABLE lake.raw.{name} (id INT) TBLPROPERTIES ('format-version' = '1', {MERGE_ON_READ})",
            f"INSERT INTO lake.raw.{name} SELECT /*+ COALESCE(1) */ id FROM range(4)",
            f"INSERT INTO lake.raw.{name} VALUES (4)",
            f"ALTER TABLE lake.raw.{name} SET TBLPROPERTIES ('format-version' = '{version}')",
            f"DELETE FROM lake.raw.{name} WHERE id = 1",
        )
        assert rows_of(spark, f"SELECT count(*) FROM lake.raw.{name}.delete_files") == [(1,)]
        with pytest.raises(PySparkException, match=r"downgrade|never lowered"):
            spark.sql(f"ALTER TABLE lake.raw.{name} SET TBLPROPERTIES ('format-version' = '1')").collect()
    run(
        spark,
        "ALTER TABLE lake.raw.two SET TBLPROPERTIES ('format-version' = '3')",
        "INSERT INTO lake.raw.two VALUES (5)",
        "CALL lake.system.rewrite_manifests('raw.three')",
    )

    for name, ids in (("two", [0, 2, 3, 4, 5]), ("three", [0, 2, 3, 4])):
        rows = rows_of(spark, f"SELECT id, _row_id FROM lake.raw.{name} ORDER BY id")
        assert [each[0] for each in rows] == ids
        assert len({each[1] for each in rows} - {None}) == len(ids)
        assert served.metadata(name)["format-version"] == 3


def test_privileges_are_the_same_for_tables_of_version_1(served: ServedLake, spark: SparkSession) -> None:
    run(spark, f"CREATE TABLE lake.raw.seen {V1} AS SELECT 1 AS id")
    viewer = served.viewer.spark

    assert rows_of(viewer, "SELECT id FROM lake.raw.seen") == [(1,)]
    for statement in (
        "DELETE FROM lake.raw.seen WHERE id = 1",
        "UPDATE lake.raw.seen SET id = 2",
        "INSERT INTO lake.raw.seen VALUES (2)",
        "ALTER TABLE lake.raw.seen SET TBLPROPERTIES ('format-version' = '2')",
        f"CREATE TABLE lake.raw.mine {V1} AS SELECT * FROM lake.raw.seen",
        "CALL lake.system.rewrite_data_files('raw.seen')",
    ):
        assert refused_state(viewer, statement) == "42501"
    assert rows_of(spark, "SELECT id FROM lake.raw.seen") == [(1,)]
