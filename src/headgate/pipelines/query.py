"""A query: the rows of one SELECT, written into a table."""

from collections.abc import Callable

from pyspark.sql.connect.session import SparkSession

from headgate.pipelines.definition import QueryDefinition
from headgate.pipelines.lakewriter import Say, write_full


def run_query(spark: SparkSession, definition: QueryDefinition, exists: Callable[[str], bool], say: Say) -> None:
    """Write what the SELECT gives. That it reads only declared inputs is the guard's to hold."""
    say(f"{' and '.join(definition.inputs)} into {definition.into}")
    write_full(spark.sql(definition.sql), definition.into, exists=exists(definition.into))
    say(f"{spark.table(definition.into).count():,} rows in {definition.into}")
