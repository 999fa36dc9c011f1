"""A history: every version that the rows of a table have had, and when (slowly changing dimension, type 2)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO, Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, PipelineDefinition, TableName
from headgate.pipelines.definitions.kind import Kind


class HistoryDefinition(PipelineDefinition):
    """Keeps the versions of a table's rows beside `valid_from`, `valid_to` (NULL: until now) and `is_current`.

    The input is either the table as it is now, looked at by each run, or, with `changed_at`, rows that each say since
    when they hold. Then the order in which they come means nothing, and rows that come again change nothing.
    """

    kind: Literal["history"]
    input: TableName
    into: TableName
    keys: tuple[DefinitionName, ...] = Field(
        min_length=1, max_length=MAX_ENTRIES, description="the columns that say what a row is about"
    )
    tracked: tuple[DefinitionName, ...] = Field(
        default=(),
        max_length=MAX_ENTRIES,
        description="a change in one of them makes a version; by default all that are no key",
    )
    changed_at: DefinitionName | None = Field(default=None, description="the column that says since when a row holds")
    close_absent: bool = Field(default=False, description="the version of a key that is not in the input any more ends")

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if self.changed_at and self.close_absent:
            raise ValueError("with `changed_at` the input does not say what is gone: leave out `close_absent`")
        return self


def _touches(definition: HistoryDefinition) -> DeclaredIO:
    return DeclaredIO((definition.input,), (Output(definition.name, definition.into),))


def _run(definition: HistoryDefinition, execution: RunExecution) -> None:
    """Bring the history up to date in one commit."""
    from headgate.pipelines.writing.versions import Versions, update_history

    spark, into = execution.spark, definition.into
    if execution.committed(into):
        execution.say(f"an earlier attempt has written {into}")
        return
    execution.say(f"versions of {definition.input} into {into}")
    versions = Versions(definition.keys, definition.tracked, definition.changed_at, definition.close_absent)
    update_history(spark, definition.input, into, versions, exists=execution.exists(into))
    rows = spark.table(into).count()
    execution.metric(f"rows.{into}", rows)
    execution.say(f"{rows:,} versions in {into}")


KIND = Kind("history", HistoryDefinition, _touches, _run)
