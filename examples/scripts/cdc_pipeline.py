"""A pipeline for change data capture in SQL scripting: a slowly changing dimension of type 2, kept by MERGE, with a log of its runs."""

from pyspark.sql import SparkSession

SETUP = [
    "CREATE SCHEMA IF NOT EXISTS warehouse",
    "USE warehouse",
    "DROP TABLE IF EXISTS changes",
    "DROP TABLE IF EXISTS dim_product",
    "DROP TABLE IF EXISTS run_log",
    "CREATE TABLE changes (seq BIGINT, op STRING, product_id INT, name STRING, price DECIMAL(10, 2), changed_at TIMESTAMP) USING iceberg",
    """
    CREATE TABLE dim_product (
      product_key STRING NOT NULL, product_id INT, name STRING, price DECIMAL(10, 2),
      valid_from TIMESTAMP, valid_to TIMESTAMP, is_current BOOLEAN
    ) USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.merge.mode' = 'copy-on-write')
    """,
    "CREATE TABLE run_log (batch INT, step STRING, detail STRING, at TIMESTAMP) USING iceberg",
]

BATCH = """
BEGIN
  DECLARE pending INT DEFAULT 0;
  DECLARE from_seq BIGINT DEFAULT 0;
  DECLARE step_sql STRING;
  DECLARE done INT DEFAULT 0;

  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    INSERT INTO run_log VALUES ({batch}, 'failed', 'the batch was not applied', current_timestamp());
    SELECT 'failed' AS outcome, {batch} AS batch;
  END;

  SET from_seq = (SELECT coalesce(max(CAST(detail AS BIGINT)), 0) FROM run_log WHERE step = 'applied');
  SET pending = (SELECT count(*) FROM changes WHERE seq > from_seq);

  IF pending = 0 THEN
    INSERT INTO run_log VALUES ({batch}, 'skipped', 'no changes', current_timestamp());
  ELSE
    apply_changes: BEGIN
      DECLARE newest BIGINT;
      SET newest = (SELECT max(seq) FROM changes);

      -- Close the current version of each changed product.
      MERGE INTO dim_product d
      USING (
        SELECT product_id, max_by(op, seq) AS op, max(changed_at) AS changed_at
        FROM changes WHERE seq > from_seq GROUP BY product_id
      ) c
      ON d.product_id = c.product_id AND d.is_current
      WHEN MATCHED THEN UPDATE SET is_current = false, valid_to = c.changed_at;

      -- Add the new version, unless the product was deleted.
      INSERT INTO dim_product
      SELECT md5(concat_ws('|', product_id, seq)), product_id, name, price, changed_at, NULL, true
      FROM (
        SELECT *, row_number() OVER (PARTITION BY product_id ORDER BY seq DESC) AS n FROM changes WHERE seq > from_seq
      ) WHERE n = 1 AND op <> 'D';

      SET step_sql = 'INSERT INTO run_log SELECT ' || {batch} || ', ?, CAST(? AS STRING), current_timestamp()';
      EXECUTE IMMEDIATE step_sql USING 'applied', newest;
    END apply_changes;
  END IF;

  WHILE done < 2 DO
    SET done = done + 1;
  END WHILE;

  SELECT 'ok' AS outcome, {batch} AS batch;
END
"""

FAULTY = """
BEGIN
  DECLARE share DOUBLE;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    INSERT INTO run_log VALUES (99, 'failed', 'division', current_timestamp());
    SELECT 'handled' AS outcome;
  END;
  SET share = 1 / 0;
  SELECT 'not reached' AS outcome;
END
"""

CHECK = """
BEGIN
  DECLARE found INT;
  SET found = (SELECT count(*) FROM (SELECT product_id FROM dim_product WHERE is_current GROUP BY product_id HAVING count(*) > 1));
  IF found > 0 THEN
    SELECT raise_error('a product has two current versions');
  END IF;
  FOR version AS SELECT product_id, count(*) AS versions FROM dim_product GROUP BY product_id ORDER BY product_id DO
    INSERT INTO run_log VALUES (0, 'versions', concat(version.product_id, '=', version.versions), current_timestamp());
  END FOR;
  SELECT array_join(sort_array(collect_list(detail)), ' ') AS versions FROM run_log WHERE step = 'versions';
END
"""

spark = SparkSession.builder.appName("cdc").getOrCreate()

for statement in SETUP:
    spark.sql(statement)

spark.sql(
    "INSERT INTO changes VALUES (1, 'I', 1, 'tea', 3.50, TIMESTAMP '2024-01-01 08:00:00'), (2, 'I', 2, 'coffee', 4.20, TIMESTAMP '2024-01-01 08:05:00'), (3, 'I', 3, 'cocoa', 5.00, TIMESTAMP '2024-01-01 08:10:00')"
)
spark.sql(BATCH.format(batch=1)).show()

spark.sql(
    "INSERT INTO changes VALUES (4, 'U', 1, 'green tea', 3.90, TIMESTAMP '2024-02-01 09:00:00'), (5, 'U', 2, 'coffee', 4.60, TIMESTAMP '2024-02-01 09:10:00'), (6, 'D', 3, NULL, NULL, TIMESTAMP '2024-02-01 09:20:00')"
)
spark.sql(BATCH.format(batch=2)).show()
spark.sql(BATCH.format(batch=3)).show()

spark.sql("SELECT product_id, name, price, is_current FROM dim_product ORDER BY product_id, valid_from").show()
spark.sql("SELECT batch, step, detail FROM run_log ORDER BY batch, step").show()

# The dimension as of a day.
spark.sql("DECLARE OR REPLACE VARIABLE as_of TIMESTAMP DEFAULT TIMESTAMP '2024-01-15 00:00:00'")
spark.sql(
    "SELECT name FROM dim_product WHERE valid_from <= as_of AND coalesce(valid_to, TIMESTAMP '9999-12-31') > as_of ORDER BY name"
).show()
spark.sql("SET VAR as_of = TIMESTAMP '2024-02-15 00:00:00'")
names = spark.sql(
    "SELECT collect_list(name) FROM dim_product WHERE valid_from <= as_of AND coalesce(valid_to, TIMESTAMP '9999-12-31') > as_of"
).first()[0]
print("in February:", sorted(names))

print("handled:", spark.sql(FAULTY).first()["outcome"])
print("versions:", spark.sql(CHECK).first()["versions"])

# The changes of the dimension itself, by Iceberg.
spark.sql(
    "CALL lake.system.create_changelog_view(table => 'warehouse.dim_product', changelog_view => 'dim_changes', identifier_columns => array('product_key'))"
)
spark.sql("SELECT _change_type, count(*) AS rows FROM dim_changes GROUP BY _change_type ORDER BY _change_type").show()

spark.stop()
