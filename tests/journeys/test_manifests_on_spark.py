"""Every way in which Spark writes a table ends in a commit whose manifests Headgate can read."""

import pytest
from pyspark.sql.connect.session import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
TABLE = "lake.raw.t"
PARTITIONED = f"""
CREATE TABLE {TABLE} (i INT, s STRING, d DATE, at TIMESTAMP, p DECIMAL(9, 2), f DOUBLE, b BOOLEAN, x BINARY)
PARTITIONED BY (s, bucket(4, i), days(at), p, b, truncate(2, x), d)
TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')
"""
ROW = "({}, 'a', DATE'2024-01-0{}', TIMESTAMP'2024-01-01 00:00:00', 1.50, 0.5, true, X'0102')"


def test_commits_with_partitions_deletes_and_rewrites_are_read(spark: SparkSession) -> None:
    for statement in (
        PARTITIONED,
        f"INSERT INTO {TABLE} VALUES {', '.join(ROW.format(each, each) for each in range(1, 7))}",
        f"INSERT INTO {TABLE} SELECT 7 + id, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM range(3)",
        f"DELETE FROM {TABLE} WHERE i = 1",
        f"DELETE FROM {TABLE} WHERE i = 2 AND f > 0",
        f"UPDATE {TABLE} SET f = 1.5 WHERE i = 3",
        f"MERGE INTO {TABLE} t USING (SELECT 4 AS i) n ON t.i = n.i WHEN MATCHED THEN DELETE",
        "CALL lake.system.rewrite_manifests('raw.t')",
        "CALL lake.system.rewrite_position_delete_files(table => 'raw.t', options => map('rewrite-all', 'true'))",
        "CALL lake.system.rewrite_data_files(table => 'raw.t', options => map('rewrite-all', 'true'))",
        f"INSERT OVERWRITE {TABLE} SELECT * FROM {TABLE} WHERE i > 4",
        f"ALTER TABLE {TABLE} DROP PARTITION FIELD p",
        f"INSERT INTO {TABLE} VALUES {ROW.format(9, 9)}",
    ):
        spark.sql(statement).collect()

    rows = spark.sql(f"SELECT i FROM {TABLE} ORDER BY i").collect()

    assert [each.i for each in rows] == [5, 6, 7, 8, 9, 9]
