"""Tables of format version 3 in Spark: variants, row lineage, deletion vectors, column defaults, upgrade and maintenance."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.journeys.served_lake import MERGE_ON_READ, ServedLake, refused_state, rows_of
from tests.lake.table_v3 import DEFAULTS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

V3 = "TBLPROPERTIES ('format-version' = '3')"
MERGE = """
MERGE INTO lake.raw.rows t USING (SELECT 4L AS id UNION ALL SELECT 9L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET c = 'z' WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, 'n')
"""


def test_variants_are_written_read_and_changed(spark: SparkSession) -> None:
    for statement in (
        f"CREATE TABLE lake.raw.events (id INT, v VARIANT) {V3}",
        """INSERT INTO lake.raw.events VALUES (1, parse_json('{"a": 1, "b": [1, 2]}')), (2, NULL)""",
        "INSERT INTO lake.raw.events SELECT 3, to_variant_object(named_struct('a', 3))",
        "UPDATE lake.raw.events SET v = parse_json('{\"a\": 2}') WHERE id = 2",
        "DELETE FROM lake.raw.events WHERE variant_get(v, '$.a', 'int') = 3",
        "CREATE VIEW lake.raw.seen AS SELECT id, v FROM lake.raw.events",
    ):
        spark.sql(statement).collect()

    read = "SELECT id, variant_get(v, '$.a', 'int'), schema_of_variant(v), to_json(v) FROM lake.raw.{} ORDER BY id"
    rows = [(1, 1, "OBJECT<a: BIGINT, b: ARRAY<BIGINT>>", '{"a":1,"b":[1,2]}'), (2, 2, "OBJECT<a: BIGINT>", '{"a":2}')]
    assert rows_of(spark, read.format("events")) == rows
    assert rows_of(spark, read.format("seen")) == rows
    exploded = "SELECT key, value::INT FROM lake.raw.events, LATERAL variant_explode(v) WHERE id = 2"
    assert rows_of(spark, exploded) == [("a", 2)]
    assert spark.table("lake.raw.events").schema.simpleString() == "struct<id:int,v:variant>"
    assert rows_of(spark, "SELECT try_variant_get(v, '$.a', 'date') FROM lake.raw.events WHERE id = 1") == [(None,)]


def test_variants_inside_other_types_are_read(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE lake.raw.nested (a ARRAY<VARIANT>, m MAP<STRING, VARIANT>, s STRUCT<v: VARIANT>) {V3}")
    spark.sql(
        "INSERT INTO lake.raw.nested SELECT array(parse_json('1')), map('k', parse_json('2')), named_struct('v', parse_json('3'))"
    )

    read = "SELECT a[0]::INT, m['k']::INT, s.v::INT FROM lake.raw.nested"
    assert rows_of(spark, read) == [(1, 2, 3)]


def test_a_variant_needs_a_table_of_format_version_3(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="`format-version`"):
        spark.sql("CREATE TABLE lake.raw.two (v VARIANT)").collect()
    spark.sql("CREATE TABLE lake.raw.two (id INT)").collect()
    with pytest.raises(PySparkException, match="Invalid schema for v2"):
        spark.sql("ALTER TABLE lake.raw.two ADD COLUMN v VARIANT").collect()

    spark.sql("ALTER TABLE lake.raw.two SET TBLPROPERTIES ('format-version' = '3')").collect()
    spark.sql("ALTER TABLE lake.raw.two ADD COLUMN v VARIANT").collect()
    assert spark.table("lake.raw.two").schema.simpleString() == "struct<id:int,v:variant>"
    with pytest.raises(PySparkException, match=r"downgrade|never lowered"):
        spark.sql("ALTER TABLE lake.raw.two SET TBLPROPERTIES ('format-version' = '2')").collect()


def test_row_ids_survive_deletes_updates_merges_and_maintenance(spark: SparkSession) -> None:
    spark.sql(
        f"CREATE TABLE lake.raw.rows (id BIGINT, c STRING) TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ})"
    )
    for statement in (
        "INSERT INTO lake.raw.rows SELECT /*+ COALESCE(1) */ id, 'x' FROM range(6)",
        "DELETE FROM lake.raw.rows WHERE id = 1",
        "DELETE FROM lake.raw.rows WHERE id = 2",
        "UPDATE lake.raw.rows SET c = 'y' WHERE id = 3",
        MERGE,
    ):
        spark.sql(statement).collect()
    lineage = "SELECT id, c, _row_id, _last_updated_sequence_number FROM lake.raw.rows ORDER BY id"
    rows = rows_of(spark, lineage)
    vectors = rows_of(spark, "SELECT DISTINCT file_format FROM lake.raw.rows.delete_files")

    assert [each[:3] for each in rows[:4]] == [(0, "x", 0), (3, "y", 3), (4, "z", 4), (5, "x", 5)]
    assert [each[3] for each in rows] == [1, 4, 5, 1, 5]
    assert vectors == [("PUFFIN",)]
    for statement in (
        "CALL lake.system.rewrite_position_delete_files(table => 'raw.rows', options => map('rewrite-all', 'true'))",
        "CALL lake.system.rewrite_data_files(table => 'raw.rows', options => map('rewrite-all', 'true'))",
        "CALL lake.system.rewrite_manifests('raw.rows')",
        "CALL lake.system.compute_table_stats('raw.rows')",
        "CALL lake.system.expire_snapshots(table => 'raw.rows', retain_last => 1, older_than => TIMESTAMP '2100-01-01')",
    ):
        spark.sql(statement).collect()
    assert rows_of(spark, lineage) == rows
    assert rows_of(spark, "SELECT * FROM lake.raw.rows.delete_files") == []


def test_rows_of_branches_published_changes_and_merged_manifests_have_row_ids_of_their_own(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE lake.raw.branched {V3} AS SELECT /*+ COALESCE(1) */ id FROM range(3)")
    for statement in (
        "ALTER TABLE lake.raw.branched CREATE BRANCH beside",
        "INSERT INTO lake.raw.branched.branch_beside VALUES (10), (11)",
        "INSERT INTO lake.raw.branched VALUES (20)",
    ):
        spark.sql(statement).collect()
    head = rows_of(spark, "SELECT snapshot_id FROM lake.raw.branched.refs WHERE name = 'beside'")[0][0]
    for statement in (
        f"CALL lake.system.cherrypick_snapshot('raw.branched', {head})",
        "DELETE FROM lake.raw.branched WHERE id = 20",
        "INSERT OVERWRITE lake.raw.branched SELECT id FROM lake.raw.branched WHERE id <> 11",
        "CALL lake.system.rewrite_manifests('raw.branched')",
        "INSERT INTO lake.raw.branched VALUES (30)",
    ):
        spark.sql(statement).collect()

    rows = rows_of(spark, "SELECT id, _row_id FROM lake.raw.branched ORDER BY id")
    assert [each[0] for each in rows] == [0, 1, 2, 10, 30]
    assert len({each[1] for each in rows}) == 5


@pytest.mark.parametrize("first", ["DELETE", "REWRITE", "OVERWRITE"])
def test_any_first_commit_after_the_upgrade_assigns_row_ids(spark: SparkSession, first: str) -> None:
    name = f"lake.raw.first_{first.lower()}"
    spark.sql(f"CREATE TABLE {name} (id INT) TBLPROPERTIES ({MERGE_ON_READ})")
    for values in ("(1), (2)", "(3)"):
        spark.sql(f"INSERT INTO {name} VALUES {values}")
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '3')")

    statements = {
        "DELETE": f"DELETE FROM {name} WHERE id = 3",
        "REWRITE": f"CALL lake.system.rewrite_manifests('{name.removeprefix('lake.')}')",
        "OVERWRITE": f"INSERT OVERWRITE {name} VALUES (2), (4)",
    }
    spark.sql(statements[first]).collect()

    ids = [each[0] for each in rows_of(spark, f"SELECT _row_id FROM {name}")]
    assert None not in ids
    assert len({*ids}) == len(ids) > 0


def test_a_table_is_upgraded_and_its_past_stays_readable(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE lake.raw.grown (id INT) TBLPROPERTIES ({MERGE_ON_READ})")
    spark.sql("INSERT INTO lake.raw.grown SELECT /*+ COALESCE(1) */ id FROM range(4)")
    spark.sql("DELETE FROM lake.raw.grown WHERE id = 0")
    past = rows_of(spark, "SELECT max_by(snapshot_id, committed_at) FROM lake.raw.grown.snapshots")[0][0]

    spark.sql("ALTER TABLE lake.raw.grown SET TBLPROPERTIES ('format-version' = '3')")
    assert rows_of(spark, "SELECT id, _row_id FROM lake.raw.grown ORDER BY id") == [(1, None), (2, None), (3, None)]
    spark.sql("INSERT INTO lake.raw.grown VALUES (9)")
    spark.sql("DELETE FROM lake.raw.grown WHERE id = 2")

    ids = [each[1] for each in rows_of(spark, "SELECT id, _row_id FROM lake.raw.grown ORDER BY id")]
    assert len({*ids}) == 3
    assert None not in ids
    assert rows_of(spark, f"SELECT id FROM lake.raw.grown VERSION AS OF {past} ORDER BY id") == [(1,), (2,), (3,)]
    spark.sql(f"CALL lake.system.rollback_to_snapshot('raw.grown', {past})")
    spark.sql("INSERT INTO lake.raw.grown VALUES (10)")
    assert rows_of(spark, "SELECT id FROM lake.raw.grown ORDER BY id") == [(1,), (2,), (3,), (10,)]


def test_a_replaced_table_keeps_its_version_and_its_row_ids_go_on(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE lake.raw.replaced {V3} AS SELECT id FROM range(3)")
    spark.sql(f"CREATE OR REPLACE TABLE lake.raw.replaced {V3} AS SELECT 'a' AS word")

    assert rows_of(spark, "SELECT word, _row_id FROM lake.raw.replaced") == [("a", 3)]
    shown = dict(rows_of(spark, "SHOW TBLPROPERTIES lake.raw.replaced"))
    assert (shown["format-version"], shown["write.parquet.compression-codec"]) == ("3", "zstd")


@pytest.mark.parametrize("type", [each for each in DEFAULTS if not each.startswith(("timestamp", "time"))])
def test_defaults_that_another_client_set_are_read_and_written(
    served: ServedLake, spark: SparkSession, type: str
) -> None:
    name = "default_" + "".join(filter(str.isalnum, type))
    spark.sql(f"CREATE TABLE lake.raw.{name} (id BIGINT) {V3}")
    spark.sql(f"INSERT INTO lake.raw.{name} VALUES (1)")
    given = {"initial-default": DEFAULTS[type][0], "write-default": DEFAULTS[type][-1]}
    columns = [{"id": 1, "name": "id", "type": "long", "required": False}]
    columns.append({"id": 2, "name": "c", "type": type, "required": False, **given})
    updates = [
        {"action": "add-schema", "schema": {"type": "struct", "fields": columns}},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    answer = served.rest("POST", f"/namespaces/raw/tables/{name}", {"requirements": [], "updates": updates})
    assert answer.status_code == 200, answer.text

    spark.sql(f"REFRESH TABLE lake.raw.{name}")
    spark.sql(f"INSERT INTO lake.raw.{name} (id) VALUES (2)")

    rows = rows_of(spark, f"SELECT id, c IS NULL FROM lake.raw.{name} ORDER BY id")
    assert rows == [(1, False), (2, False)]


def test_privileges_are_the_same_for_tables_of_version_3(served: ServedLake, spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE lake.raw.kept {V3} AS SELECT 1 AS id, parse_json('1') AS v")
    viewer = served.viewer.spark

    assert rows_of(viewer, "SELECT id, v::INT, _row_id FROM lake.raw.kept") == [(1, 1, 0)]
    for statement in (
        "DELETE FROM lake.raw.kept WHERE id = 1",
        "UPDATE lake.raw.kept SET v = parse_json('2')",
        "INSERT INTO lake.raw.kept VALUES (2, NULL)",
        "ALTER TABLE lake.raw.kept SET TBLPROPERTIES ('format-version' = '3')",
        f"CREATE TABLE lake.raw.mine {V3} AS SELECT * FROM lake.raw.kept",
        "CALL lake.system.rewrite_data_files('raw.kept')",
    ):
        assert refused_state(viewer, statement) == "42501"
    assert rows_of(spark, "SELECT id, v::INT FROM lake.raw.kept") == [(1, 1)]


def test_own_properties_and_snapshot_notes_are_kept(spark: SparkSession) -> None:
    rows = spark.range(3)
    rows.writeTo("lake.raw.noted").tableProperty("my.own", "1").option("snapshot-property.my-note", "hello").create()
    spark.sql(
        "ALTER TABLE lake.raw.noted SET TBLPROPERTIES ('team.tier' = 'gold', 'write.object-storage.enabled' = 'true')"
    )
    rows.writeTo("lake.raw.noted").option("snapshot-property.run.id", "7").append()

    notes = rows_of(
        spark, "SELECT summary['my-note'], summary['run.id'] FROM lake.raw.noted.snapshots ORDER BY committed_at"
    )
    assert notes == [("hello", None), (None, "7")]
    shown = dict(rows_of(spark, "SHOW TBLPROPERTIES lake.raw.noted"))
    assert (shown["my.own"], shown["team.tier"]) == ("1", "gold")


@pytest.mark.parametrize(
    "option",
    [
        "snapshot-property.operation",
        "snapshot-property.wap.id",
        "snapshot-property.published-wap-id",
        "snapshot-property.spark.sql.streaming.epochId",
        "snapshot-property.added-records",
        "snapshot-property.my.path",
        "snapshot-property.",
        "Snapshot-Property.Operation",
    ],
)
def test_a_snapshot_note_with_a_meaning_is_refused(spark: SparkSession, option: str) -> None:
    write = spark.range(1).write.mode("append").option(option, "x")

    with pytest.raises(PySparkException, match="option"):
        write.saveAsTable("lake.raw.unnoted")
