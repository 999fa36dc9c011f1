"""A source: files of a declared connection, one table per stream."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from headgate.pipelines.definition import SourceDefinition, Stream
from headgate.pipelines.lakewriter import Say, write_full


def run_source(
    spark: SparkSession, definition: SourceDefinition, folder: Path, exists: Callable[[str], bool], say: Say
) -> None:
    """Load every enabled stream, in the order of the definition."""
    for stream in definition.streams:
        if stream.enabled:
            say(f"stream `{stream.name}`: {stream.file} into {stream.into}")
            write_full(_read(spark, stream, folder), stream.into, exists=exists(stream.into))
            say(f"stream `{stream.name}`: {spark.table(stream.into).count():,} rows in {stream.into}")


def _read(spark: SparkSession, stream: Stream, folder: Path) -> DataFrame:
    reader = spark.read.format(stream.format)
    if stream.columns:
        reader = reader.schema(stream.columns)
    if stream.format == "csv":
        reader = reader.option("header", "true").option("mode", "FAILFAST").option("nullValue", stream.null_value)
    return reader.load(str(folder / stream.file))
