"""Nightly maintenance of all tables of a database: describe, compact, expire, and report what was done."""

import argparse
from datetime import datetime, timedelta, timezone

from pyspark.sql import SparkSession


def create_sample(spark, database):
    """Create two tables with many small files."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    spark.sql(f"DROP TABLE IF EXISTS {database}.clicks")
    spark.sql(f"DROP TABLE IF EXISTS {database}.accounts")
    spark.sql(f"CREATE TABLE {database}.clicks (id BIGINT, page STRING, day DATE) USING iceberg PARTITIONED BY (day)")
    for batch in range(4):
        spark.sql(
            f"INSERT INTO {database}.clicks SELECT id, concat('/page/', id % 7), DATE'2024-03-01' + INT(id % 2) FROM range({batch * 50}, {batch * 50 + 50})"
        )
    spark.sql(
        f"CREATE TABLE {database}.accounts USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read') COMMENT 'customer accounts' AS SELECT id, id * 10 AS balance FROM range(100)"
    )
    spark.sql(f"DELETE FROM {database}.accounts WHERE id % 10 = 3")
    spark.sql(
        f"CREATE OR REPLACE VIEW {database}.rich_accounts AS SELECT * FROM {database}.accounts WHERE balance > 500"
    )


def describe(spark, database):
    """Print what the catalog says about the tables and views."""
    print("databases:", database in [row[0] for row in spark.sql("SHOW DATABASES").collect()])
    spark.sql(f"DESCRIBE DATABASE {database}").show(truncate=False)
    spark.sql(f"SHOW VIEWS IN {database}").show()
    tables = [row.tableName for row in spark.sql(f"SHOW TABLES IN {database}").collect()]
    views = [row.viewName for row in spark.sql(f"SHOW VIEWS IN {database}").collect()]
    tables = sorted(set(tables) - set(views))
    print("tables:", tables, "views:", views)
    for table in tables:
        name = f"{database}.{table}"
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        facts = {row.col_name: row.data_type for row in rows}
        print(name, "provider:", facts["Provider"], "columns:", len(spark.table(name).columns))
        properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
        print(name, "format:", properties["format"])
        print(spark.sql(f"SHOW CREATE TABLE {name}").first()[0].splitlines()[0])
        print(name, "columns:", [row[0] for row in spark.sql(f"SHOW COLUMNS IN {name}").collect()])
    spark.sql(f"SELECT partition.day, file_count FROM {database}.clicks.partitions ORDER BY 1").show()
    return tables


def maintain(spark, database, table):
    """Maintain one table; return the numbers of its files before and after."""
    name, quoted = f"{database}.{table}", f"'{database}.{table}'"
    before = spark.table(f"{name}.files").count()
    spark.sql(f"CALL lake.system.compute_table_stats(table => {quoted})").show(1)
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => {quoted}, strategy => 'binpack', options => map('min-input-files', '2'))"
    ).show()
    spark.sql(
        f"CALL lake.system.rewrite_position_delete_files(table => {quoted}, options => map('rewrite-all', 'true'))"
    ).show()
    spark.sql(f"CALL lake.system.rewrite_manifests({quoted})").show()
    older = datetime.now(timezone.utc) + timedelta(minutes=1)
    spark.sql(
        f"CALL lake.system.expire_snapshots(table => {quoted}, older_than => TIMESTAMP '{older:%Y-%m-%d %H:%M:%S}', retain_last => 1)"
    ).show()
    spark.sql(f"CALL lake.system.remove_orphan_files(table => {quoted}, dry_run => true)").show(3)
    spark.sql(f"REFRESH TABLE {name}")
    return before, spark.table(f"{name}.files").count()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="maintenance")
    database = parser.parse_args().database
    spark = SparkSession.builder.appName("maintenance").getOrCreate()
    create_sample(spark, database)
    tables = describe(spark, database)
    sorted_by = "zorder(id, page)"
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{database}.clicks', strategy => 'sort', sort_order => '{sorted_by}', options => map('rewrite-all', 'true'))"
    ).show()
    for table in tables:
        before, after = maintain(spark, database, table)
        snapshots = spark.table(f"{database}.{table}.snapshots").count()
        print(f"{table}: {before} files before, {after} after, snapshots kept: {snapshots}")
    spark.sql(
        f"ALTER TABLE {database}.clicks SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '86400000', 'maintained' = 'yes')"
    )
    print("maintained:", spark.sql(f"SHOW TBLPROPERTIES {database}.clicks ('maintained')").first()["value"])
    clicks, accounts = spark.table(f"{database}.clicks").count(), spark.table(f"{database}.accounts").count()
    print(
        f"rows unchanged: clicks {clicks}, accounts {accounts}, rich {spark.table(f'{database}.rich_accounts').count()}"
    )
    spark.sql(f"DROP VIEW {database}.rich_accounts")
    spark.stop()


if __name__ == "__main__":
    main()
