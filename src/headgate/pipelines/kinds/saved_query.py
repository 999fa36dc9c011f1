"""The kind `saved_query`: a stored SELECT without runs; each user who opens it executes it with their own privileges."""

from typing import Literal

from headgate.pipelines.definitions.chart import Chart
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.select import SelectingDefinition


class SavedQueryDefinition(SelectingDefinition):
    """One SELECT, and the chart of its rows."""

    kind: Literal["saved_query"]
    chart: Chart | None = None


def _touches(definition: SavedQueryDefinition) -> DeclaredIO:
    return DeclaredIO(definition.inputs)


KIND = Kind("saved_query", SavedQueryDefinition, _touches)
