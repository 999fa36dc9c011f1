"""A saved query: a SELECT that somebody keeps. It has no runs: who opens it asks it anew, with their own rights."""

from typing import Literal

from headgate.pipelines.definitions.chart import Chart
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.select import SelectingDefinition


class SavedQueryDefinition(SelectingDefinition):
    """One SELECT, and how its rows are drawn."""

    kind: Literal["saved_query"]
    chart: Chart | None = None


def _touches(definition: SavedQueryDefinition) -> DeclaredIO:
    return DeclaredIO(definition.inputs)


KIND = Kind("saved_query", SavedQueryDefinition, _touches)
