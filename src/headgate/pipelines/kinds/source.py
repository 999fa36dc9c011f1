"""A source: files of a declared connection, one table per stream."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints

from headgate.pipelines.definition import Name, PipelineDefinition, Strict, TableName
from headgate.pipelines.execution import Execution
from headgate.pipelines.kind import Kind
from headgate.pipelines.place import folder_of
from headgate.pipelines.touching import Output, Touches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession


class Stream(Strict):
    """One file of the connection, loaded in full into one table."""

    name: Name
    file: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/\\]+$")]
    format: Literal["csv", "json", "parquet"] = "csv"
    into: TableName
    columns: str = Field(default="", description="the columns as in CREATE TABLE; empty: the file's own")
    null_value: str = Field(default="", description="how a missing value is written in a CSV file")
    enabled: bool = True


class SourceDefinition(PipelineDefinition):
    """Reads files through a declared connection into one table per stream."""

    kind: Literal["source"]
    connection: Name
    streams: tuple[Stream, ...] = Field(min_length=1)


def outputs(streams: tuple[Stream, ...]) -> tuple[Output, ...]:
    """Return what streams write."""
    return tuple(Output(each.name, each.into, each.enabled) for each in streams)


def _touches(definition: SourceDefinition) -> Touches:
    return Touches(outputs=outputs(definition.streams), others={"connections": (definition.connection,)})


def _run(definition: SourceDefinition, execution: Execution) -> None:
    """Load every enabled stream, in the order of the definition."""
    folder = folder_of(execution.place(definition.connection), definition.connection)
    for stream in definition.streams:
        if stream.enabled:
            _load(stream, folder, execution)


def _load(stream: Stream, folder: Path, execution: Execution) -> None:
    from headgate.pipelines.lakewriter import write_full

    spark, into = execution.spark, stream.into
    execution.say(f"stream `{stream.name}`: {stream.file} into {into}")
    write_full(_read(spark, stream, folder), into, exists=execution.exists(into))
    execution.say(f"stream `{stream.name}`: {spark.table(into).count():,} rows in {into}")


def _read(spark: "SparkSession", stream: Stream, folder: Path) -> "DataFrame":
    reader = spark.read.format(stream.format)
    if stream.columns:
        reader = reader.schema(stream.columns)
    if stream.format == "csv":
        reader = reader.option("header", "true").option("mode", "FAILFAST").option("nullValue", stream.null_value)
    return reader.load(str(folder / stream.file))


KIND = Kind("source", SourceDefinition, _touches, _run)
