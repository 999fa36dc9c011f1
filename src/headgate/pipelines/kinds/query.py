"""The kind `query`: writes the rows of one SELECT into a table."""

from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO, Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, TableName
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.select import SelectingDefinition, select_rows


class QueryDefinition(SelectingDefinition):
    """Writes the rows of one SELECT into a table: replaces all its rows (`full`), appends, or merges by key."""

    kind: Literal["query"]
    into: TableName
    mode: Literal["full", "append", "merge"] = "full"
    keys: tuple[DefinitionName, ...] = Field(
        default=(),
        max_length=MAX_ENTRIES,
        description="for `merge`: the key columns; a row replaces the row of its key",
    )

    @model_validator(mode="after")
    def _has_keys_to_merge_by(self) -> Self:
        if self.mode == "merge" and not self.keys:
            raise ValueError("`mode` is `merge`, but `keys` is empty; list the key columns in `keys`")
        if self.mode != "merge" and self.keys:
            raise ValueError(f"`keys` has no meaning with the mode `{self.mode}`; remove it, or set `mode` to `merge`")
        return self


class QueryError(Exception):
    """The rows of a query cannot be written as its definition requires."""


def _touches(definition: QueryDefinition) -> DeclaredIO:
    return DeclaredIO(definition.inputs, (Output(definition.name, definition.into),))


def _whole(definition: QueryDefinition) -> str | None:
    if definition.mode != "full":
        return None
    return (
        f"the mode `full` cannot be backfilled, because each run replaces all rows of {definition.into}; set `mode` to "
        "`append` or `merge`"
    )


def _run(definition: QueryDefinition, execution: RunExecution) -> None:
    """Write the rows of the SELECT. The guard in Spark ensures that it reads only declared inputs."""
    spark, into = execution.spark, definition.into
    if execution.committed(into):
        execution.say(f"an earlier attempt has written {into}; skipping it")
        return
    whole = _whole(definition)
    if execution.range and whole:
        raise QueryError(whole)
    execution.say(f"writing rows of {' and '.join(definition.inputs)} into {into}")
    _write(definition, execution)
    rows = spark.table(into).count()
    execution.metric(f"rows.{into}", rows)
    execution.say(f"{rows:,} rows in {into}")


def _write(definition: QueryDefinition, execution: RunExecution) -> None:
    from headgate.pipelines.writing.lake_table import append, duplicate_key, merge, write_full

    frame, into = select_rows(execution.spark, definition, execution.range), definition.into
    exists = execution.exists(into)
    if definition.mode == "full":
        write_full(frame, into, exists=exists)
    elif definition.mode == "append":
        append(frame, into, exists=exists)
    elif several := duplicate_key(frame, definition.keys):
        raise QueryError(f"the SELECT returns more than one row for the key {several}; return one row per key")
    else:
        merge(frame, into, definition.keys, exists=exists)


KIND = Kind("query", QueryDefinition, _touches, _run, _whole)
