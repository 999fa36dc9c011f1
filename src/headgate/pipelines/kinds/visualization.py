"""The kind `visualization`: a chart of a SELECT's rows at its last run, for every user who may read its input tables."""

from typing import Literal

from headgate.pipelines.definitions.chart import Chart, collect_rows, require_drawable
from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.select import SelectingDefinition, select_rows


class VisualizationDefinition(SelectingDefinition):
    """Stores the first rows of one SELECT, and draws them."""

    kind: Literal["visualization"]
    chart: Chart


def _touches(definition: VisualizationDefinition) -> DeclaredIO:
    return DeclaredIO(definition.inputs)


def _run(definition: VisualizationDefinition, execution: RunExecution) -> None:
    """Store the first rows of the SELECT."""
    rows = collect_rows(select_rows(execution.spark, definition, execution.range))
    require_drawable(definition.chart, rows)
    execution.keep(rows.model_dump(mode="json"))
    execution.metric("rows", len(rows.rows))
    execution.say(f"{len(rows.rows):,} rows stored{'; the SELECT returns more' if rows.cut else ''}")


KIND = Kind("visualization", VisualizationDefinition, _touches, _run, lambda _: None)
