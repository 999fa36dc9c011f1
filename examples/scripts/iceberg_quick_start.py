"""Iceberg quick start: tables, snapshots, evolution, branches and maintenance, after "Spark and Iceberg Quickstart"."""

from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType, FloatType, LongType, StringType, StructField, StructType

spark = SparkSession.builder.appName("iceberg-quickstart").getOrCreate()

spark.sql("CREATE DATABASE IF NOT EXISTS lake.nyc")
spark.sql("DROP TABLE IF EXISTS lake.nyc.taxis PURGE")

# Create a table.
spark.sql("""
CREATE TABLE lake.nyc.taxis
(
  vendor_id bigint,
  trip_id bigint,
  trip_distance float,
  fare_amount double,
  store_and_fwd_flag string
)
USING iceberg
PARTITIONED BY (vendor_id)
""")

# Write data to it, first with SQL and then with the DataFrame API.
spark.sql("""
INSERT INTO lake.nyc.taxis
VALUES (1, 1000371, 1.8, 15.32, 'N'), (2, 1000372, 2.5, 22.15, 'N'), (2, 1000373, 0.9, 9.01, 'N'), (1, 1000374, 8.4, 42.13, 'Y')
""")
schema = StructType(
    [
        StructField("vendor_id", LongType(), True),
        StructField("trip_id", LongType(), True),
        StructField("trip_distance", FloatType(), True),
        StructField("fare_amount", DoubleType(), True),
        StructField("store_and_fwd_flag", StringType(), True),
    ]
)
data = [(1, 1000375, 3.1, 18.75, "N"), (3, 1000376, 5.6, 30.2, "Y")]
spark.createDataFrame(data, schema).writeTo("lake.nyc.taxis").append()
spark.sql("SELECT * FROM lake.nyc.taxis ORDER BY trip_id").show()
before = spark.sql("SELECT snapshot_id FROM lake.nyc.taxis.snapshots ORDER BY committed_at DESC LIMIT 1").first()[0]

# Change rows: MERGE, UPDATE and DELETE.
spark.sql("""
MERGE INTO lake.nyc.taxis t
USING (SELECT * FROM VALUES (1000371L, 99.0D), (1000377L, 12.5D) AS v(trip_id, fare)) s
ON t.trip_id = s.trip_id
WHEN MATCHED THEN UPDATE SET t.fare_amount = s.fare
WHEN NOT MATCHED THEN INSERT (vendor_id, trip_id, fare_amount) VALUES (4, s.trip_id, s.fare)
""")
spark.sql("UPDATE lake.nyc.taxis SET store_and_fwd_flag = 'N' WHERE store_and_fwd_flag IS NULL")
spark.sql("DELETE FROM lake.nyc.taxis WHERE trip_distance < 1")
print("Trips after the merge:", spark.table("lake.nyc.taxis").count())

# Time travel.
print("Trips before the merge:", spark.sql(f"SELECT * FROM lake.nyc.taxis VERSION AS OF {before}").count())
print("The same by option:", spark.read.option("versionAsOf", before).table("lake.nyc.taxis").count())
spark.sql("SELECT count(*) FROM lake.nyc.taxis TIMESTAMP AS OF now()").show()

# Inspect the table.
spark.sql("SELECT made_current_at, snapshot_id, is_current_ancestor FROM lake.nyc.taxis.history").show(truncate=False)
spark.sql("SELECT committed_at, operation, summary['added-records'] AS added FROM lake.nyc.taxis.snapshots").show()
spark.sql("SELECT file_format, record_count, lower_bounds IS NOT NULL AS bounds FROM lake.nyc.taxis.files").show()
spark.sql("SELECT partition, record_count, file_count FROM lake.nyc.taxis.partitions").show()
spark.sql("SELECT length(path) > 0 AS has_path, added_data_files_count FROM lake.nyc.taxis.manifests").show()
spark.sql("SELECT h.operation, count(*) FROM lake.nyc.taxis.snapshots h GROUP BY h.operation ORDER BY 1").show()

# Evolve the schema.
spark.sql("ALTER TABLE lake.nyc.taxis ADD COLUMN tip double COMMENT 'in dollars' AFTER fare_amount")
spark.sql("ALTER TABLE lake.nyc.taxis RENAME COLUMN fare_amount TO fare")
spark.sql("ALTER TABLE lake.nyc.taxis ALTER COLUMN trip_distance TYPE double")
spark.sql("ALTER TABLE lake.nyc.taxis ADD COLUMNS (pickup struct<lat: double, lon: double>)")
spark.sql("ALTER TABLE lake.nyc.taxis ADD COLUMN pickup.zone string")
spark.sql("ALTER TABLE lake.nyc.taxis DROP COLUMN store_and_fwd_flag")
spark.sql("DESCRIBE TABLE lake.nyc.taxis").show(truncate=False)

# Evolve the partitions and the order of writes.
spark.sql("ALTER TABLE lake.nyc.taxis ADD PARTITION FIELD bucket(4, trip_id)")
spark.sql("ALTER TABLE lake.nyc.taxis REPLACE PARTITION FIELD vendor_id WITH truncate(2, vendor_id) AS vendor_group")
spark.sql("ALTER TABLE lake.nyc.taxis WRITE ORDERED BY trip_id, fare DESC NULLS LAST")
spark.sql("ALTER TABLE lake.nyc.taxis SET TBLPROPERTIES ('write.format.default' = 'parquet', 'comment' = 'taxi trips')")
spark.sql("""
INSERT INTO lake.nyc.taxis (vendor_id, trip_id, trip_distance, fare, tip, pickup)
VALUES (5, 2000001, 2.2, 11.0, 1.5, named_struct('lat', 40.7, 'lon', -74.0, 'zone', 'SoHo'))
""")
spark.sql("SELECT vendor_id, tip, pickup.zone FROM lake.nyc.taxis WHERE tip IS NOT NULL").show()

# Branches and tags: write, audit, publish.
spark.sql("ALTER TABLE lake.nyc.taxis CREATE TAG `end-of-day` RETAIN 7 DAYS")
spark.sql("ALTER TABLE lake.nyc.taxis CREATE BRANCH audit")
spark.sql(
    "INSERT INTO lake.nyc.taxis.branch_audit (vendor_id, trip_id, fare) VALUES (6, 3000001, 1.0), (6, 3000002, 2.0)"
)
on_main = spark.table("lake.nyc.taxis").count()
on_audit = spark.sql("SELECT * FROM lake.nyc.taxis VERSION AS OF 'audit'").count()
at_tag = spark.read.option("versionAsOf", "end-of-day").table("lake.nyc.taxis").count()
print(f"main {on_main}, audit {on_audit}, end-of-day {at_tag}")
spark.sql("SELECT name, type FROM lake.nyc.taxis.refs ORDER BY name").show()
spark.sql("CALL lake.system.fast_forward('nyc.taxis', 'main', 'audit')").show()
spark.sql("ALTER TABLE lake.nyc.taxis DROP BRANCH audit")
print("Trips after the audit:", spark.table("lake.nyc.taxis").count())

# Roll back and maintain.
spark.sql(f"CALL lake.system.rollback_to_snapshot('nyc.taxis', {before})").show()
print("Trips after the rollback:", spark.table("lake.nyc.taxis").count())
spark.sql("CALL lake.system.rewrite_data_files(table => 'nyc.taxis', options => map('rewrite-all', 'true'))").show()
spark.sql("CALL lake.system.rewrite_manifests('nyc.taxis')").show()
spark.sql("""
CALL lake.system.expire_snapshots(table => 'nyc.taxis', older_than => TIMESTAMP '2020-01-01 00:00:00', retain_last => 2)
""").show()
spark.sql("SELECT * FROM lake.nyc.taxis ORDER BY trip_id").show()

spark.stop()
