"""Loads one stream into its table: reads it, evolves the table's columns, and writes the rows in one commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql.connect import functions as spark
from pyspark.sql.types import DataType, StructType

from headgate.control.kernel.ids import new_id
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.targets import database_of, http_of, require_folder
from headgate.pipelines.definitions.context import Range, RunExecution
from headgate.pipelines.files.file_limits import require_short_lines, require_small_document
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.connected_files import stage_files
from headgate.pipelines.loading.cursors import CursorPosition, cursor_position, in_range
from headgate.pipelines.loading.http_fetch import Api
from headgate.pipelines.loading.row_reader import parse_declared_schema, read_files, read_json_lines, read_table
from headgate.pipelines.loading.schema_evolution import alter_statements, find_field, merge_schema
from headgate.pipelines.loading.staging import stage
from headgate.pipelines.loading.streams import ApiStream, FileStream, StreamBase, TableStream
from headgate.pipelines.loading.upsert import upsert
from headgate.pipelines.loading.validation import (
    data_of,
    is_bad,
    load_error_from,
    quarantine_rows,
    valid_rows,
    valid_rows_or_fail,
    validate_rows,
)
from headgate.pipelines.sql_quoting import quote_name, quote_table
from headgate.pipelines.writing.lake_table import NEW, append, qualified_column, write_full


def load(stream: StreamBase, connection: str, execution: RunExecution) -> None:
    """Load a stream, unless an earlier attempt has. Raises `LoadError`, `EndedError`, `PlaceError` or Spark's errors."""
    if execution.committed(stream.into):
        execution.say(f"stream `{stream.name}`: an earlier attempt has written {stream.into}; skipping it")
        return
    execution.say(f"stream `{stream.name}`: loading {_source(stream)} into {stream.into}")
    try:
        _Load(stream, connection, execution).carry_out()
    except LoadError as error:
        raise LoadError(f"stream `{stream.name}`: {error}") from error
    except PySparkException as error:
        raise load_error_from(error, stream.name) or error from None


@dataclass(frozen=True, slots=True)
class _Load:
    stream: StreamBase
    connection: str
    execution: RunExecution

    def carry_out(self) -> None:
        stream, execution = self.stream, self.execution
        exists = execution.exists(stream.into)
        before = execution.spark.table(quote_table(stream.into)).schema if exists else StructType()
        so_far = self._resume_position(before)
        parts = self._parts(so_far)
        if not parts:
            execution.say(f"stream `{stream.name}`: no records to load")
            return
        after = self._columns(before, parts)
        if exists:
            self._alter(before, after)
        counted = stream.cursor if stream.mode != "full" else None
        of_files = isinstance(stream, FileStream)
        rows = validate_rows(parts, after, stream.key, counted, of_files=of_files).where(
            self._rows_in_scope(after, so_far)
        )
        self._write(self._split_bad_rows(rows), after, exists=exists)
        self._report()

    def _resume_position(self, before: StructType) -> CursorPosition | None:
        """Return the cursor position after which an incremental load continues; None for a backfill or a full load."""
        stream, execution = self.stream, self.execution
        if stream.cursor is None or stream.mode == "full" or execution.range is not None:
            return None
        found = find_field(before, stream.cursor)
        return (
            cursor_position(execution.spark, quote_table(stream.into), stream.cursor, found.dataType) if found else None
        )

    def _parts(self, so_far: CursorPosition | None) -> Sequence[DataFrame]:
        stream, session = self.stream, self.execution.spark
        if isinstance(stream, ApiStream):
            return self._fetch(stream, so_far)
        place = self.execution.place(self.connection)
        if isinstance(stream, FileStream):
            return list(read_files(session, stream, self._stage_files(stream, require_folder(place, self.connection))))
        database_of(place, self.connection)
        return list(read_table(session, cast(TableStream, stream), self.connection))

    def _stage_files(self, stream: FileStream, folder: AllowedFolder) -> Path:
        execution = self.execution
        goal = execution.staging / stream.into
        bound = {"parquet": execution.parquet, "json": require_small_document}.get(stream.format, require_short_lines)
        count, size = stage_files(stream, folder, goal, bound, partial(execution.wait, 0))
        files = "1 file" if count == 1 else f"{count:,} files"
        execution.say(f"stream `{stream.name}`: {files}, {size:,} bytes in all")
        return goal

    def _fetch(self, stream: ApiStream, so_far: CursorPosition | None) -> Sequence[DataFrame]:
        execution = self.execution
        since = so_far.text if so_far else execution.range.since if execution.range else None
        asked = {**stream.parameters, **({stream.since: since} if stream.since and since else {})}
        folder = execution.staging / stream.into
        with Api(http_of(execution.place(self.connection), self.connection), execution.wait) as api:
            count = stage(api.pages(stream.path, asked, stream.pages, stream.records), folder)
        execution.say(f"stream `{stream.name}`: {count:,} records from {stream.path}")
        if count:
            return list(read_json_lines(execution.spark, stream.columns, folder))
        emptied = stream.mode == "full" and execution.range is None and execution.exists(stream.into)
        return [execution.spark.table(quote_table(stream.into)).limit(0)] if emptied else []

    def _columns(self, before: StructType, parts: Sequence[DataFrame]) -> StructType:
        after = merge_schema(before, parse_declared_schema(self.execution.spark, self.stream.columns))
        for part in parts:
            after = merge_schema(after, data_of(part))
        if not after.fields:
            raise LoadError(
                "the columns are unknown, because neither the table nor the data has any; declare them in `columns`"
            )
        for name in (*self.stream.key, *filter(None, (self.stream.cursor,))):
            if find_field(after, name) is None:
                raise LoadError(f"neither the table nor the data has a column `{name}`; correct `key` or `cursor`")
        return after

    def _alter(self, before: StructType, after: StructType) -> None:
        for alteration in alter_statements(before, after):
            self.execution.say(f"stream `{self.stream.name}`: {alteration}")
            self.execution.spark.sql(f"ALTER TABLE {quote_table(self.stream.into)} {alteration}")

    def _rows_in_scope(self, columns: StructType, so_far: CursorPosition | None) -> Column:
        """Return the condition for the rows of this load. Bad rows always count: their cursor may be unreadable."""
        stream, part = self.stream, self.execution.range
        if part is not None:
            return is_bad() | in_range(part, *self._cursor(columns))
        if so_far is None:
            return spark.lit(True)  # noqa: FBT003 (a value, not a flag)
        value, _ = self._cursor(columns)
        # An upsert writes no row twice, so rows equal to the highest cursor are included again.
        return is_bad() | (value >= so_far.value if stream.mode == "upsert" else value > so_far.value)

    def _cursor(self, columns: StructType) -> tuple[Column, DataType]:
        found = find_field(columns, self.stream.cursor) if self.stream.cursor else None
        if found is None:
            raise LoadError("the stream has no `cursor` column, which a backfill needs; set `cursor`")
        return spark.col(quote_name(found.name)), found.dataType

    def _split_bad_rows(self, rows: DataFrame) -> DataFrame:
        apart = self.stream.quarantine
        if apart is None:
            return valid_rows_or_fail(rows, self.stream.name)
        self._quarantine(rows, apart)
        return valid_rows(rows)

    def _quarantine(self, rows: DataFrame, apart: str) -> None:
        """Write new bad rows to the quarantine table, before the valid rows: no bad row is lost if writing those fails."""
        execution = self.execution
        if execution.committed(apart):
            return
        found, exists = quarantine_rows(rows, execution.run), execution.exists(apart)
        if exists:
            found = found.join(execution.spark.table(quote_table(apart)), "row", "left_anti")
        held = self._materialize(found)
        count = held.count()
        execution.metric(f"rows.{apart}", count)
        if count:
            execution.say(f"stream `{self.stream.name}`: {count:,} more bad rows quarantined in {apart}")
            append(held, apart, exists=exists)

    def _materialize(self, rows: DataFrame) -> DataFrame:
        """Return the rows from a copy on disk: their source may change, and is not read again."""
        folder = str(self.execution.staging / f"{self.stream.into}-{new_id('held')}")
        rows.write.parquet(folder)
        return self.execution.spark.read.schema(rows.schema).parquet(folder)

    def _write(self, rows: DataFrame, columns: StructType, *, exists: bool) -> None:
        stream, part = self.stream, self.execution.range
        if stream.mode == "upsert":
            upsert(rows, stream.into, stream.key, stream.cursor, self._materialize, exists=exists)
        elif part is not None and exists:
            _replace(rows, stream.into, part, self._cursor(columns)[1], str(stream.cursor))
        elif stream.mode == "full":
            write_full(rows, stream.into, exists=exists)
        else:
            append(rows, stream.into, exists=exists)

    def _report(self) -> None:
        into = self.stream.into
        snapshots = self.execution.spark.table(f"{quote_table(into)}.snapshots")
        latest = snapshots.orderBy(spark.desc("committed_at")).limit(1).select("summary")
        figures = {
            name: int(value) for row in latest.collect() for name, value in row.summary.items() if value.isdigit()
        }
        there = figures.get("total-records", 0) - figures.get("total-position-deletes", 0)
        self.execution.metric(f"rows.{into}", figures.get("added-records", 0))
        self.execution.say(f"stream `{self.stream.name}`: {there:,} rows in {into}")


def _replace(rows: DataFrame, into: str, part: Range, type: DataType, cursor: str) -> None:
    """Replace the rows in the range of a backfill by these rows, in one commit."""
    here, there = qualified_column(into, cursor), qualified_column(NEW, cursor)
    # Never true. The equality makes Spark use a sort-merge join instead of comparing each row with each.
    none = spark.expr(f"{here} = {there} AND {here} < {there}")
    merged = rows.alias(NEW).mergeInto(quote_table(into), none).whenNotMatched().insertAll()
    merged.whenNotMatchedBySource(in_range(part, spark.col(here), type)).delete().merge()


def _source(stream: StreamBase) -> str:
    if isinstance(stream, FileStream):
        return stream.file or f"{stream.prefix}..."
    return stream.table if isinstance(stream, TableStream) else getattr(stream, "path", "")
