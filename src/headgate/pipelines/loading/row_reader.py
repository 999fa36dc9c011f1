"""Reads the rows of a stream with Spark, one data frame per schema: files with different columns are not mixed."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.connect import functions
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import DataType, StringType, StructField, StructType

from headgate.control.text.error_text import visible_words
from headgate.pipelines.errors import describe_failure
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.schema_evolution import find_field
from headgate.pipelines.loading.streams import FileStream, TableStream

FILE_NAME = functions.col("_metadata.file_name")
"""The name of a row's file. It has a cost: Spark then carries all metadata of the file in every row."""
RAW = "headgate_raw"
"""The column with the text of a row that could not be read; NULL for all other rows."""
_FETCHED = 10_000
"""The number of rows that a database sends at a time."""


def read_files(spark: SparkSession, stream: FileStream, folder: Path) -> Iterator[DataFrame]:
    """Yield the rows of the files in a staged folder. Raises `LoadError` if a file cannot be read at all."""
    paths = [str(each) for each in sorted(folder.iterdir())]
    known = parse_declared_schema(spark, stream.columns)
    read = {"csv": _csv, "json": _json, "json_lines": _json, "parquet": _parquet}[stream.format]
    yield from read(spark, stream, paths, known)


def read_json_lines(spark: SparkSession, columns: str, folder: Path) -> Iterator[DataFrame]:
    """Yield the rows of records that were staged as JSON lines."""
    yield _read_json(spark, [str(folder)], parse_declared_schema(spark, columns), one_a_line=True)


def read_table(spark: SparkSession, stream: TableStream, connection: str) -> Iterator[DataFrame]:
    """Yield the rows of a database table. The server, not this code, adds the address and the secret of the connection."""
    reader = spark.read.format("jdbc").option("connection", connection).option("dbtable", stream.table)
    yield reader.option("fetchsize", _FETCHED).load()


def parse_declared_schema(spark: SparkSession, columns: str) -> StructType:
    """Return the columns that a definition declares. Raises `LoadError` if they are not as in CREATE TABLE."""
    try:
        return spark.createDataFrame([], columns).schema if columns else StructType()
    except PySparkException as error:
        raise LoadError(
            f"`columns` is invalid: {visible_words(error)}; write names and types of columns as in CREATE TABLE"
        ) from None


def _csv(spark: SparkSession, stream: FileStream, paths: Sequence[str], known: StructType) -> Iterator[DataFrame]:
    def header(path: str) -> StructType:
        found = spark.read.format("csv").option("header", "true").load(path).schema
        if not found.fields:
            raise LoadError(f"the file `{Path(path).name}` is empty; add a header to it, or remove it")
        return StructType([StructField(each.name, _type(known, each.name)) for each in found.fields])

    for columns, alike in _group_by_schema(paths, header):
        # Columns are matched by the names in the header and not by position, so that files may have more or fewer columns.
        reader = spark.read.format("csv").option("header", "true").option("enforceSchema", "false")
        reader = reader.option("nullValue", stream.null_value).schema(_with_raw(columns))
        yield reader.option("columnNameOfCorruptRecord", RAW).load(alike)


def _json(spark: SparkSession, stream: FileStream, paths: Sequence[str], known: StructType) -> Iterator[DataFrame]:
    one_a_line = stream.format == "json_lines"
    if not one_a_line:
        _refuse_lines(spark, paths)
    yield _read_json(spark, paths, known, one_a_line=one_a_line)


def _refuse_lines(spark: SparkSession, paths: Sequence[str]) -> None:
    """Raise `LoadError` for a file of several documents: Spark would read the first and silently drop the others."""
    begins = functions.left("value", functions.lit(1))
    counted = functions.count_if(begins == "{").alias("objects"), functions.count_if(begins == "[").alias("lists")
    found = spark.read.text(list(paths)).groupBy(FILE_NAME.alias("name")).agg(*counted)
    wrong = found.where("objects > 1 AND lists = 0").limit(1).collect()
    if wrong:
        raise LoadError(f"the file `{wrong[0]['name']}` has one JSON document per line; set `format` to `json_lines`")


def _read_json(spark: SparkSession, paths: Sequence[str], known: StructType, *, one_a_line: bool) -> DataFrame:
    multiple = "false" if one_a_line else "true"
    reader = spark.read.format("json").option("multiLine", multiple).option("columnNameOfCorruptRecord", RAW)
    found = [each for each in reader.load(list(paths)).schema.fields if each.name != RAW]
    new = [each for each in found if find_field(known, each.name) is None]
    return reader.schema(_with_raw(StructType([*known.fields, *new]))).load(list(paths))


def _parquet(spark: SparkSession, _: FileStream, paths: Sequence[str], known: StructType) -> Iterator[DataFrame]:
    del known  # the file has types of its own, and its values are cast to the declared ones later
    for _columns, alike in _group_by_schema(paths, lambda path: spark.read.format("parquet").load(path).schema):
        yield spark.read.format("parquet").load(alike)


def _group_by_schema(
    paths: Sequence[str], schema: Callable[[str], StructType]
) -> Iterator[tuple[StructType, list[str]]]:
    groups = dict[str, tuple[StructType, list[str]]]()
    for path in paths:
        found = _read_schema(path, schema)
        groups.setdefault(found.json(), (found, []))[1].append(path)
    yield from groups.values()


def _read_schema(path: str, schema: Callable[[str], StructType]) -> StructType:
    try:
        return schema(path)
    except PySparkException as error:
        found = describe_failure(error)
        if found.refused:
            raise
        if found.away:
            raise LoadError(
                f"Spark ended before or while it read `{Path(path).name}`; run the pipeline again, and if that fails too, "
                "split the file into smaller ones"
            ) from error
        raise LoadError(
            f"the file `{Path(path).name}` cannot be read: {visible_words(error)}; correct or remove the file"
        ) from error


def _type(known: StructType, name: str) -> DataType:
    found = find_field(known, name)
    return found.dataType if found else StringType()


def _with_raw(columns: StructType) -> StructType:
    return StructType([*columns.fields, StructField(RAW, StringType())])
