"""The kind `history`: every version of a table's rows, with its validity period (slowly changing dimension, type 2)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO, Output
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, PipelineDefinition, TableName
from headgate.pipelines.definitions.kind import Kind


class HistoryDefinition(PipelineDefinition):
    """Stores the versions of a table's rows with `valid_from`, `valid_to` (NULL: still valid) and `is_current`.

    The input is either the present state of a table, which each run compares, or, with `changed_at`, rows with the time from
    which they are valid. Then rows may arrive in any order, and a repeated row changes nothing.
    """

    kind: Literal["history"]
    input: TableName
    into: TableName
    keys: tuple[DefinitionName, ...] = Field(
        min_length=1, max_length=MAX_ENTRIES, description="the columns that identify the subject of a row"
    )
    tracked: tuple[DefinitionName, ...] = Field(
        default=(),
        max_length=MAX_ENTRIES,
        description="the columns whose changes create a new version; by default all columns that are not in `keys`",
    )
    changed_at: DefinitionName | None = Field(
        default=None, description="the column with the time from which a row is valid"
    )
    close_absent: bool = Field(
        default=False, description="end the current version of a key that is missing from the input"
    )

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if self.changed_at and self.close_absent:
            raise ValueError(
                "`close_absent` cannot be combined with `changed_at`, whose input does not show which keys are missing; remove "
                "one of the two"
            )
        return self


def _touches(definition: HistoryDefinition) -> DeclaredIO:
    return DeclaredIO((definition.input,), (Output(definition.name, definition.into),))


def _run(definition: HistoryDefinition, execution: RunExecution) -> None:
    """Update the history in one commit."""
    from headgate.pipelines.writing.versions import Versions, update_history

    spark, into = execution.spark, definition.into
    if execution.committed(into):
        execution.say(f"an earlier attempt has written {into}; skipping it")
        return
    execution.say(f"writing versions of {definition.input} into {into}")
    versions = Versions(definition.keys, definition.tracked, definition.changed_at, definition.close_absent)
    update_history(spark, definition.input, into, versions, exists=execution.exists(into))
    rows = spark.table(into).count()
    execution.metric(f"rows.{into}", rows)
    execution.say(f"{rows:,} versions in {into}")


KIND = Kind("history", HistoryDefinition, _touches, _run)
