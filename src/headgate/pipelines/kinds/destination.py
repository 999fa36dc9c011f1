"""A destination: the rows of a table written out of the lake, as files or into a database."""

from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from headgate.pipelines.connections.targets import database_of, require_folder
from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import (
    MAX_ENTRIES,
    DefinitionName,
    PipelineDefinition,
    StrictDefinition,
    TableName,
)
from headgate.pipelines.definitions.kind import Kind


class Files(StrictDefinition):
    """A folder of files in the folder of the connection; each run replaces it as a whole."""

    folder: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^./\\\s][^/\\*?\[\]{}\s]*$")]
    format: Literal["csv", "json", "parquet"] = "parquet"


class DatabaseTable(StrictDefinition):
    """A table of a PostgreSQL database, which is made where it is missing."""

    table: Annotated[str, StringConstraints(pattern=r"^[^.\"\s]{1,63}\.[^.\"\s]{1,63}$")] = Field(
        description="schema and table"
    )
    mode: Literal["replace", "append", "upsert"] = "replace"
    keys: tuple[DefinitionName, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="for `upsert`: the columns by which rows replace others"
    )

    @model_validator(mode="after")
    def _has_keys_to_upsert_by(self) -> Self:
        if (self.mode == "upsert") != bool(self.keys):
            raise ValueError("`upsert` needs `keys`, and nothing else has any")
        return self


class DestinationDefinition(PipelineDefinition):
    """Writes a table into a declared connection. Who reads there sees what was before, or all of what is new."""

    kind: Literal["destination"]
    input: TableName
    connection: DefinitionName
    files: Files | None = None
    database: DatabaseTable | None = None

    @model_validator(mode="after")
    def _goes_to_one_of_them(self) -> Self:
        if (self.files is None) == (self.database is None):
            raise ValueError("a destination writes either `files` or into a `database`")
        return self


def _touches(definition: DestinationDefinition) -> DeclaredIO:
    return DeclaredIO((definition.input,), others={"connections": (definition.connection,)})


def _run(definition: DestinationDefinition, execution: RunExecution) -> None:
    """Write all rows of the table."""
    if definition.files is not None:
        rows = _write_files(definition, definition.files, execution)
    else:
        rows = _write_rows(definition, execution)
    execution.metric("rows", rows)
    execution.say(f"{rows:,} rows written")


def _write_files(definition: DestinationDefinition, files: Files, execution: RunExecution) -> int:
    from headgate.pipelines.writing.files import write_files

    frame, name = execution.spark.table(definition.input), definition.connection
    execution.say(f"{definition.input} into the folder `{files.folder}` of `{name}`")
    has_to_end = partial(execution.wait, 0)
    write_files(
        frame,
        files.format,
        lambda: require_folder(execution.place(name), name),
        files.folder,
        execution.staging,
        execution.run,
        has_to_end,
    )
    return frame.count()


def _write_rows(definition: DestinationDefinition, execution: RunExecution) -> int:
    from headgate.pipelines.writing.postgresql import Load, write_rows

    name, goal = definition.connection, definition.database
    assert goal is not None  # noqa: S101 (the definition has one of the two)
    execution.say(f"{definition.input} into `{goal.table}` of `{name}`")
    load = Load(name, database_of(execution.place(name), name), goal.table, goal.mode, goal.keys, execution.run)
    return write_rows(execution.spark.table(definition.input), load)


KIND = Kind("destination", DestinationDefinition, _touches, _run)
