"""Streams of a source: each reads one file set, table or API path through its connection, and writes one table."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, field_validator, model_validator

from headgate.control.connections.commands import has_way_up
from headgate.pipelines.definitions.declared_io import Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, StrictDefinition, TableName
from headgate.pipelines.loading.paging import PagingRule

ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
_FILE = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/\\*?\[\]{}]+$")]

QUARANTINE = "_quarantine"
"""The suffix of the name of the table with a stream's bad rows."""


class StreamBase(StrictDefinition):
    """The fields of every stream: its table, and how its rows replace or extend the rows of the table."""

    name: DefinitionName
    into: TableName
    mode: Literal["full", "incremental", "upsert"] = Field(
        default="full",
        description="`full` replaces all rows; `incremental` adds rows whose cursor is above the table's highest; `upsert` "
        "replaces rows by key",
    )
    cursor: ColumnName | None = Field(
        default=None, description="a column whose values increase: an id, or the time of a row's last change"
    )
    key: tuple[ColumnName, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="the columns that identify a row"
    )
    columns: str = Field(default="", description="the columns as in CREATE TABLE; empty: inferred from the data")
    bad_rows: Literal["fail", "quarantine"] = Field(
        default="fail",
        description="rows that do not fit the columns: `fail` fails the load, `quarantine` writes them to the table "
        "`<into>_quarantine`",
    )
    enabled: bool = True

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "incremental" and self.cursor is None:
            raise ValueError("`mode` is `incremental`, but `cursor` is missing; set `cursor` to a column")
        if self.mode == "upsert" and not self.key:
            raise ValueError("`mode` is `upsert`, but `key` is empty; list the key columns in `key`")
        return self

    @property
    def quarantine(self) -> str | None:
        """The full name of the quarantine table for bad rows; None if bad rows fail the load."""
        return f"{self.into}{QUARANTINE}" if self.bad_rows == "quarantine" else None


class FileStream(StreamBase):
    """Files in the folder of the connection: one file, all files of a folder, or all files with a name prefix."""

    file: _FILE | None = Field(default=None, description="a file, or a folder whose files are all read")
    prefix: _FILE | None = Field(default=None, description="the prefix of the names of the files")
    format: Literal["csv", "json", "json_lines", "parquet"] = Field(
        default="csv", description="`json` is one document per file, `json_lines` one per line"
    )
    null_value: str = Field(default="", description="the text that means NULL in a CSV file")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.file is None and self.prefix is None:
            raise ValueError("the stream of files has neither `file` nor `prefix`; set one of them")
        if self.file is not None and self.prefix is not None:
            raise ValueError("the stream of files has both `file` and `prefix`; remove one of them")
        return self


class TableStream(StreamBase):
    """A table or view of the connection's database."""

    table: Annotated[str, StringConstraints(pattern=r"^[^.\"`;\s]+\.[^.\"`;\s]+$")] = Field(
        description="schema and table"
    )


class ApiStream(StreamBase):
    """Records of the connection's HTTP API, from one or several pages."""

    path: Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_~.%:@!$&'()*+,;=-]+)+/?$")]
    parameters: dict[str, str] = Field(
        default_factory=dict, max_length=MAX_ENTRIES, description="the query parameters of each request"
    )
    records: str = Field(
        default="", pattern=r"^(/.*)?$", description="a JSON pointer to the list of records; empty: the whole response"
    )
    pages: PagingRule | None = Field(
        default=None, description="how to request the next page; empty: there is only one page"
    )
    since: str | None = Field(
        default=None, description="the query parameter for the cursor after which records are requested"
    )

    @field_validator("path")
    @classmethod
    def _goes_down(cls, path: str) -> str:
        if has_way_up(path):
            raise ValueError("`path` contains `..`; name a path below the address of the connection")
        return path


def _kind(stream: Any) -> str:
    """Return the tag of a stream's type, which follows from its fields: `table`, `path` or else `file`."""
    said = stream if isinstance(stream, dict) else getattr(stream, "__dict__", {})
    return next((each for each in ("table", "path") if each in said), "file")


SourceStream = Annotated[
    Annotated[FileStream, Tag("file")] | Annotated[TableStream, Tag("table")] | Annotated[ApiStream, Tag("path")],
    Discriminator(_kind),
]


def list_outputs(streams: tuple[StreamBase, ...]) -> tuple[Output, ...]:
    """Return the tables that streams write."""
    return tuple(output for each in streams for output in _list_stream_outputs(each))


def _list_stream_outputs(stream: StreamBase) -> tuple[Output, ...]:
    rows = Output(stream.name, stream.into, stream.enabled)
    return (rows, Output(stream.name, stream.quarantine, stream.enabled)) if stream.quarantine else (rows,)
