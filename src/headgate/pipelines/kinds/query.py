"""A query: the rows of one SELECT, written into a table."""

from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO, Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, TableName
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.select import SelectingDefinition, select_rows


class QueryDefinition(SelectingDefinition):
    """Writes the rows of one SELECT into a table: in the place of all that is there, beside it, or by key."""

    kind: Literal["query"]
    into: TableName
    mode: Literal["full", "append", "merge"] = "full"
    keys: tuple[DefinitionName, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="for `merge`: the columns by which rows replace others"
    )

    @model_validator(mode="after")
    def _has_keys_to_merge_by(self) -> Self:
        if (self.mode == "merge") != bool(self.keys):
            raise ValueError("`merge` needs `keys`, and nothing else has any")
        return self


class QueryError(Exception):
    """The rows of a query cannot be written as its definition says."""


def _touches(definition: QueryDefinition) -> DeclaredIO:
    return DeclaredIO(definition.inputs, (Output(definition.name, definition.into),))


def _whole(definition: QueryDefinition) -> str | None:
    if definition.mode != "full":
        return None
    return f"a part of {definition.into} cannot be its whole: only `append` and `merge` can be filled in by ranges"


def _run(definition: QueryDefinition, execution: RunExecution) -> None:
    """Write what the SELECT gives. That it reads only declared inputs is the guard's to hold."""
    spark, into = execution.spark, definition.into
    if execution.committed(into):
        execution.say(f"an earlier attempt has written {into}")
        return
    whole = _whole(definition)
    if execution.range and whole:
        raise QueryError(whole)
    execution.say(f"{' and '.join(definition.inputs)} into {into}")
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
        raise QueryError(f"the SELECT gives more than one row for {several}: only one of them could be kept")
    else:
        merge(frame, into, definition.keys, exists=exists)


KIND = Kind("query", QueryDefinition, _touches, _run, _whole)
