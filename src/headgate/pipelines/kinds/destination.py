"""The kind `destination`: writes the rows of a table out of the lake, as files or into a database."""

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
    """A folder of files below the connection's folder; each run replaces the whole folder."""

    folder: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^./\\\s][^/\\*?\[\]{}\s]*$")]
    format: Literal["csv", "json", "parquet"] = "parquet"


class DatabaseTable(StrictDefinition):
    """A table of a PostgreSQL database, which is created if it is missing."""

    table: Annotated[str, StringConstraints(pattern=r"^[^.\"\s]{1,63}\.[^.\"\s]{1,63}$")] = Field(
        description="schema and table"
    )
    mode: Literal["replace", "append", "upsert"] = "replace"
    keys: tuple[DefinitionName, ...] = Field(
        default=(),
        max_length=MAX_ENTRIES,
        description="for `upsert`: the key columns; a row replaces the row of its key",
    )

    @model_validator(mode="after")
    def _has_keys_to_upsert_by(self) -> Self:
        if self.mode == "upsert" and not self.keys:
            raise ValueError("`mode` is `upsert`, but `keys` is empty; list the key columns in `keys`")
        if self.mode != "upsert" and self.keys:
            raise ValueError(f"`keys` has no meaning with the mode `{self.mode}`; remove it, or set `mode` to `upsert`")
        return self


class DestinationDefinition(PipelineDefinition):
    """Writes a table into a declared connection. A reader of the target sees either all old or all new rows."""

    kind: Literal["destination"]
    input: TableName
    connection: DefinitionName
    files: Files | None = None
    database: DatabaseTable | None = None

    @model_validator(mode="after")
    def _goes_to_one_of_them(self) -> Self:
        if self.files is None and self.database is None:
            raise ValueError("the destination has neither `files` nor `database`; set one of them")
        if self.files is not None and self.database is not None:
            raise ValueError("the destination has both `files` and `database`; remove one of them")
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
    execution.say(f"writing {definition.input} into the folder `{files.folder}` of `{name}`")
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
    execution.say(f"writing {definition.input} into `{goal.table}` of `{name}`")
    load = Load(name, database_of(execution.place(name), name), goal.table, goal.mode, goal.keys, execution.run)
    return write_rows(execution.spark.table(definition.input), load)


KIND = Kind("destination", DestinationDefinition, _touches, _run)
