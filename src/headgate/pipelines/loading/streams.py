"""Streams of a source: each is read from one place behind its connection, and written into one table."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, field_validator, model_validator

from headgate.control.connections.commands import has_way_up
from headgate.pipelines.definitions.declared_io import Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, StrictDefinition, TableName
from headgate.pipelines.loading.paging import PagingRule

ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
_FILE = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/\\*?\[\]{}]+$")]

QUARANTINE = "_quarantine"
"""How the table of a stream's bad rows is called, beside the stream's own."""


class StreamBase(StrictDefinition):
    """What every stream says: where its rows go, and what becomes of those that are there."""

    name: DefinitionName
    into: TableName
    mode: Literal["full", "incremental", "upsert"] = Field(
        default="full",
        description="replace all rows; add those whose cursor is above the table's highest; or replace rows by key",
    )
    cursor: ColumnName | None = Field(default=None, description="a column that grows: an id, or when a row was changed")
    key: tuple[ColumnName, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="the columns that tell a row from all others"
    )
    columns: str = Field(default="", description="the columns as in CREATE TABLE; empty: what is read says them")
    bad_rows: Literal["fail", "quarantine"] = Field(
        default="fail", description="rows that do not fit: end the load, or go to the table `<into>_quarantine`"
    )
    enabled: bool = True

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "incremental" and self.cursor is None:
            raise ValueError("an incremental stream needs a `cursor`")
        if self.mode == "upsert" and not self.key:
            raise ValueError("a stream that upserts needs a `key`")
        return self

    @property
    def quarantine(self) -> str | None:
        """The full name of the table of the bad rows, if they are kept."""
        return f"{self.into}{QUARANTINE}" if self.bad_rows == "quarantine" else None


class FileStream(StreamBase):
    """Files in the folder of the connection: one, all in a folder, or all whose names begin alike."""

    file: _FILE | None = Field(default=None, description="a file, or a folder whose files are read")
    prefix: _FILE | None = Field(default=None, description="what the names of the files begin with")
    format: Literal["csv", "json", "json_lines", "parquet"] = Field(
        default="csv", description="`json` is one document in each file, `json_lines` one in each line"
    )
    null_value: str = Field(default="", description="how a missing value is written in a CSV file")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.prefix is None):
            raise ValueError("a stream of files says `file` or `prefix`")
        return self


class TableStream(StreamBase):
    """A table or view of the connection's database."""

    table: Annotated[str, StringConstraints(pattern=r"^[^.\"`;\s]+\.[^.\"`;\s]+$")] = Field(
        description="schema and table"
    )


class ApiStream(StreamBase):
    """Records of the connection's HTTP API, from one page or many."""

    path: Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_~.%:@!$&'()*+,;=-]+)+/?$")]
    parameters: dict[str, str] = Field(
        default_factory=dict, max_length=MAX_ENTRIES, description="what each request asks with"
    )
    records: str = Field(default="", pattern=r"^(/.*)?$", description="a JSON pointer to the list of records")
    pages: PagingRule | None = Field(default=None, description="how to ask for the next page; empty: there is one")
    since: str | None = Field(
        default=None, description="the parameter that says from which cursor on records are wanted"
    )

    @field_validator("path")
    @classmethod
    def _goes_down(cls, path: str) -> str:
        if has_way_up(path):
            raise ValueError("the path of an API's stream leads down from the connection's address")
        return path


def _kind(stream: Any) -> str:
    """Return which kind of stream this is: what it names tells."""
    said = stream if isinstance(stream, dict) else getattr(stream, "__dict__", {})
    return next((each for each in ("table", "path") if each in said), "file")


SourceStream = Annotated[
    Annotated[FileStream, Tag("file")] | Annotated[TableStream, Tag("table")] | Annotated[ApiStream, Tag("path")],
    Discriminator(_kind),
]


def list_outputs(streams: tuple[StreamBase, ...]) -> tuple[Output, ...]:
    """Return what streams write."""
    return tuple(output for each in streams for output in _list_stream_outputs(each))


def _list_stream_outputs(stream: StreamBase) -> tuple[Output, ...]:
    rows = Output(stream.name, stream.into, stream.enabled)
    return (rows, Output(stream.name, stream.quarantine, stream.enabled)) if stream.quarantine else (rows,)
