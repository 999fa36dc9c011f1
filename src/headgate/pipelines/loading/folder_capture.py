"""Stream capture: loads new files of a folder into a table, exactly once; Spark's stream records which files are loaded.

Each poll copies the files that are new since the last poll into a folder of the pipeline, by open descriptors, and Spark
reads the copies: it opens no path that a user of the connection's folder could replace by a link. Spark loads the copies in
batches, one commit each. Spark records a batch's files before the batch begins, and its end after the commit; Iceberg records
the batch of each commit. So an attempt continues where a killed one stopped.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql.connect.functions import col, lit
from pyspark.sql.types import StructField, StructType

from headgate.control.text.error_text import REFUSED_STATE, raw_words
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.targets import require_folder
from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.stream_capture import StreamCaptureDefinition
from headgate.pipelines.errors import describe_failure
from headgate.pipelines.files.csv_headers import require_one_header
from headgate.pipelines.files.file_limits import require_short_lines
from headgate.pipelines.files.folder_copy import FoundFile, copy_files, list_files, open_connected, require_no_links
from headgate.pipelines.files.listing_marks import ListingMarks
from headgate.pipelines.load_errors import EndedError, LoadError
from headgate.pipelines.sql_quoting import quote_name, quote_table
from headgate.pipelines.writing.lake_table import write_full

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK: Final = 1
"""The interval in seconds at which the code checks whether a batch is done, or the run has to end."""
_MOST_TOLD: Final = 100
"""The maximum number of files that are passed to schema inference one by one; above it, the whole folder is passed."""
_UNREADABLE: Final = ("FAILED_READ_FILE", "MALFORMED_RECORD", "CANNOT_READ_FILE_FOOTER", "CANNOT_READ_FOOTER")


def capture(definition: StreamCaptureDefinition, execution: RunExecution) -> None:
    """Load files until the run has to end, or once if `every` is null. Raises `LoadError`, `EndedError` or Spark's errors."""
    name = definition.connection or definition.source or ""
    each = Capture(definition, execution, lambda: require_folder(execution.place(name), name))
    each.begin()
    while True:
        each.poll()
        if definition.every is None:
            return
        if execution.wait(definition.every):
            raise EndedError


class Capture:
    """One attempt of a stream capture. `connected` returns the connection's folder and checks access again at each call."""

    def __init__(
        self, definition: StreamCaptureDefinition, execution: RunExecution, connected: Callable[[], AllowedFolder]
    ) -> None:
        self._definition = definition
        self._execution = execution
        self._connected = connected
        self._folder = execution.incoming
        self._progress = execution.checkpoints / str(execution.cleaned)
        self._marks = ListingMarks(execution.checkpoints, execution.cleaned)
        self._rows = 0
        self._columns: StructType | None = None
        """The schema with which the new files are read, once it is determined."""

    def begin(self) -> None:
        """Continue after the earlier runs, or, after a clean and restart, with an empty table."""
        into = self._definition.into
        if self._execution.cleaned and not self._progress.exists() and self._execution.exists(into):
            self._execution.say(f"clean and restart: deleting all rows of {into}; every file is loaded again")
            write_full(self._execution.spark.table(into).limit(0), into, exists=True)
        # Only now: if an attempt is killed before, the next one empties the table again, and no row was loaded meanwhile.
        self._progress.mkdir(parents=True, exist_ok=True)

    def poll(self) -> None:
        """Load the files that are new since the last poll."""
        listed, came = self._copy_new()
        if not came:
            return
        try:
            columns = self._schema(came)
            if columns:
                self._take(columns)
        except PySparkException as error:
            raise self._load_error(error, came) from error
        self._marks.keep(listed)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copy_new(self) -> tuple[Sequence[FoundFile], list[Path]]:
        """Copy the files that are new since the last poll; return the listing, and the copies, oldest first."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        folder = self._connected()
        with open_connected(folder, self._definition.path or ".") as source:
            require_no_links(source)
            listed = list_files(source)
            names = [each.name for each in self._marks.select_new(listed, _find_commit_time(self._progress))]
            bound = self._execution.parquet if self._definition.format == "parquet" else require_short_lines
            copied = copy_files(folder, source, names, self._folder, bound, partial(self._execution.wait, 0))
        return listed, [self._folder / name for name in copied]

    def _schema(self, came: Sequence[Path]) -> StructType:
        """Return the schema for reading, in the order of the files' columns, and add missing columns to the table."""
        found = self._read_schema(came)
        known = self._list_known_columns()
        new = [field for field in found if field.name.lower() not in known]
        self._add(new, found)
        columns = {**known, **{field.name.lower(): field for field in new}}
        self._columns = StructType([columns[field.name.lower()] for field in found])
        return self._columns

    def _read_schema(self, came: Sequence[Path]) -> StructType:
        definition = self._definition
        if definition.format == "csv":
            require_one_header(came)
        told = [str(each) for each in came] if len(came) <= _MOST_TOLD else [str(self._folder)]
        reader = self._execution.spark.read.options(**self._options())
        if definition.format == "csv":
            reader = reader.option("inferSchema", "true")
        if definition.format == "parquet":
            reader = reader.option("mergeSchema", "true")
        return reader.format(definition.format).load(told).schema

    def _list_known_columns(self) -> dict[str, StructField]:
        """Return the columns with known types, by their names in lower case."""
        spark, definition = self._execution.spark, self._definition
        if self._execution.exists(definition.into):
            schema = spark.table(definition.into).schema
        elif definition.columns:
            schema = spark.createDataFrame([], definition.columns).schema
        else:
            return {}
        return {field.name.lower(): StructField(field.name, field.dataType) for field in schema}

    def _add(self, new: Sequence[StructField], found: StructType) -> None:
        spark, into, stated = self._execution.spark, self._definition.into, self._definition.columns
        if not self._execution.exists(into):
            first = spark.createDataFrame([], stated).schema.fields if stated else []
            named = {field.name.lower() for field in first}
            rest = [field for field in found if field.name.lower() not in named]
            spark.createDataFrame([], StructType([*first, *rest])).writeTo(into).create()
        elif new:
            names = ", ".join(f"`{field.name}`" for field in new)
            self._execution.say(f"the files have new columns; adding them to {into}: {names}")
            spark.sql(f"ALTER TABLE {quote_table(into)} ADD COLUMNS ({', '.join(map(_format_column, new))})").collect()

    def _take(self, schema: StructType) -> None:
        definition, spark = self._definition, self._execution.spark
        files = spark.readStream.format(definition.format).schema(schema).options(**self._options())
        # By file name only: the copy has it in common with the original, and with the copy of an earlier attempt.
        files = files.option("maxFilesPerTrigger", str(definition.files_at_once)).option("fileNameOnly", "true")
        frame = files.load(str(self._folder))
        writer = self._fit_columns(frame, schema).writeStream.option("checkpointLocation", str(self._progress))
        query = writer.trigger(availableNow=True).toTable(definition.into)
        try:
            while not query.awaitTermination(_LOOK):
                if self._execution.wait(0):
                    raise EndedError
        finally:
            if query.isActive:
                query.stop()
        self._count(query)

    def _fit_columns(self, frame: "DataFrame", schema: StructType) -> "DataFrame":
        """Return the rows with every column of the table, in its order: Iceberg does not reorder columns of a stream."""
        there = {field.name.lower() for field in schema}
        wanted = self._execution.spark.table(self._definition.into).schema
        return frame.select(
            *(
                (col(quote_name(field.name)) if field.name.lower() in there else lit(None).cast(field.dataType)).alias(
                    field.name
                )
                for field in wanted
            )
        )

    def _options(self) -> dict[str, str]:
        # A row that does not fit fails its batch. A file with other columns is never read by position.
        options = {"mode": "FAILFAST"} if self._definition.format != "parquet" else {}
        if self._definition.format == "csv":
            options |= {"header": "true", "enforceSchema": "false", "nullValue": self._definition.null_value}
        return options

    def _count(self, query: "StreamingQuery") -> None:
        rows = sum(each.numInputRows for each in query.recentProgress)
        if rows:
            self._rows += rows
            self._execution.metric(f"rows.{self._definition.into}", float(self._rows))
            self._execution.say(f"{rows:,} rows into {self._definition.into}")

    def _load_error(self, error: PySparkException, came: Sequence[Path]) -> Exception:
        words = raw_words(error)
        if REFUSED_STATE in words or not any(sign in words for sign in _UNREADABLE):
            return error
        # Spark's message has the path of the file, which the gateway does not let through.
        unfit = next((f"the file `{each.name}`" for each in came[:_MOST_TOLD] if not self._fits(each)), "a file")
        return LoadError(
            f"{unfit} does not fit the columns of {self._definition.into}; no file of its batch was loaded; overwrite the file "
            "with a corrected or empty one of the same name and run again, or delete it and run `headgate pipeline "
            "clean-and-restart`"
        )

    def _fits(self, file: Path) -> bool:
        reader = self._execution.spark.read.format(self._definition.format).options(**self._options())
        if self._columns:
            reader = reader.schema(self._columns)
        try:
            reader.load(str(file)).write.format("noop").mode("overwrite").save()
        except PySparkException as error:
            if describe_failure(error).away:
                raise
            return False
        return True


def _find_commit_time(progress: Path) -> float:
    """Return the time at which Spark recorded the files of the last finished batch; 0 if there is none."""
    done = [int(each.name) for each in _in(progress / "commits") if each.name.isdecimal()]
    with suppress(FileNotFoundError):
        return (progress / "offsets" / str(max(done))).stat().st_mtime if done else 0.0
    return 0.0


def _in(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _format_column(field: StructField) -> str:
    return f"{quote_name(field.name)} {field.dataType.simpleString()}"
