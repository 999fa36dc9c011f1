"""A program of `pyspark-client`, PySpark without Java: it prints as JSON what it finds at the address in SPARK_REMOTE."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions

REFUSED = (
    "SELECT * FROM lake.payroll_of_thin.salaries",
    "INSERT INTO lake.thin.flights VALUES ('x', 1)",
    "SELECT reflect('java.lang.System', 'getenv', 'PATH')",
)


def find(spark: SparkSession) -> dict[str, Any]:
    """Return what the client finds, by name."""
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "n INT, s STRING")
    return {
        "has jars": (Path(pyspark.__path__[0]) / "jars").exists(),
        "version": spark.version,
        "user": spark.sql("SELECT current_user()").collect()[0][0],
        "rows": [list(row) for row in spark.table("lake.thin.flights").orderBy("year").collect()],
        "parameters": spark.sql("SELECT :n + 1", args={"n": 1}).collect()[0][0],
        "own rows": [
            list(row) for row in rows.withColumn("t", functions.upper("s")).filter(functions.col("n") > 1).collect()
        ],
        "pandas": spark.table("lake.thin.flights")
        .groupBy()
        .agg(functions.sum("year").alias("y"))
        .toPandas()["y"]
        .tolist(),
        "catalogs": [each.name for each in spark.catalog.listCatalogs()],
        "catalogs like": [each.name for each in spark.catalog.listCatalogs("spark*")],
        "databases": [each.name for each in spark.catalog.listDatabases()],
        "tables": [each.name for each in spark.catalog.listTables("lake.thin")],
        "columns": [each.name for each in spark.catalog.listColumns("lake.thin.flights")],
        "refusals": [refusal(spark, statement) for statement in REFUSED],
        "user code": refusal_of_code(spark),
    }


def refusal(spark: SparkSession, statement: str) -> list[str | None]:
    """Return the SQLSTATE, the condition and the text with which a statement is refused."""
    try:
        spark.sql(statement).collect()
    except PySparkException as error:
        return [error.getSqlState(), error.getCondition(), str(error)]
    return [None, None, "not refused"]


def refusal_of_code(spark: SparkSession) -> list[str | None]:
    """Return the same for a function in Python."""
    try:
        spark.range(1).select(functions.udf(lambda n: n, "long")("id")).collect()
    except PySparkException as error:
        return [error.getSqlState(), error.getCondition(), str(error)]
    return [None, None, "not refused"]


def main() -> None:
    """Print what is found."""
    spark = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).getOrCreate()
    try:
        json.dump(find(spark), sys.stdout)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
