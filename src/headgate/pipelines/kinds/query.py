"""A query: the rows of one SELECT, written into a table."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from headgate.pipelines.definition import PipelineDefinition, TableName
from headgate.pipelines.execution import Execution
from headgate.pipelines.kind import Kind
from headgate.pipelines.touching import Output, Touches


class QueryDefinition(PipelineDefinition):
    """Writes the rows of one SELECT into a table, in full at each run."""

    kind: Literal["query"]
    into: TableName
    inputs: tuple[TableName, ...] = Field(min_length=1)
    sql: Annotated[str, StringConstraints(min_length=1)]


def _touches(definition: QueryDefinition) -> Touches:
    return Touches(definition.inputs, (Output(definition.name, definition.into),))


def _run(definition: QueryDefinition, execution: Execution) -> None:
    """Write what the SELECT gives. That it reads only declared inputs is the guard's to hold."""
    from headgate.pipelines.lakewriter import write_full

    spark, into = execution.spark, definition.into
    execution.say(f"{' and '.join(definition.inputs)} into {into}")
    write_full(spark.sql(definition.sql), into, exists=execution.exists(into))
    execution.say(f"{spark.table(into).count():,} rows in {into}")


KIND = Kind("query", QueryDefinition, _touches, _run)
