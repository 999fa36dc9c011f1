"""Figures of a run that the caller may see: row counts of a table are only for callers that may read the table."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource
from headgate.pipelines.execution.run_log import METRICS, PROGRESS, ROWS_LINE

_TABLE: Final = "table"
_WORK: Final = frozenset(("stages", "stages_done", "tasks", "tasks_done"))
"""The figures of Spark's progress in stages and tasks. The other figures count rows and bytes that were read and written."""


class VisibleFigures:
    """Filters the figures of runs for one caller at one time."""

    def __init__(self, moment: Evaluation) -> None:
        self._moment = moment
        self.reads = cache(self._reads)

    def of(self, pipeline: Resource, figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return `progress` and `metrics` of a run, without counts of rows that the caller may not read.

        If the access model has `view_metrics` for a pipeline of this type, only that action decides.
        """
        progress, metrics = figures.get(PROGRESS, {}), figures.get(METRICS, {})
        whole = self._may(pipeline, "view_metrics")
        if whole is None:
            whole = self._reads_all(pipeline)
            shown = {name: value for name, value in metrics.items() if self._reads_counted(name, whole=whole)}
        else:
            shown = dict(metrics) if whole else {}
        return {
            PROGRESS: {name: value for name, value in progress.items() if whole or name in _WORK},
            METRICS: shown,
        }

    def _reads_counted(self, metric: str, *, whole: bool) -> bool:
        """Return whether the caller may see a metric.

        The metric of a table needs `select` on the table; any other metric needs it on all tables of the pipeline (`whole`).
        """
        if not metric.startswith(ROWS_LINE):
            return whole
        found = self._moment.facts.find(tuple(metric.removeprefix(ROWS_LINE).split(".")))
        return found is not None and self.reads(found.id)

    def _reads_all(self, pipeline: Resource) -> bool:
        tables = set(self._tables(pipeline))
        return bool(tables) and all(map(self.reads, tables))

    def _tables(self, pipeline: Resource) -> Iterator[ResourceId]:
        for edges in pipeline.relations.values():
            for edge in edges:
                found = self._moment.facts.resources.get(edge.target)
                if found is not None and found.type == _TABLE:
                    yield found.id

    def _reads(self, table: ResourceId) -> bool:
        found = self._moment.facts.resources.get(table)
        return found is not None and bool(self._may(found, "select"))

    def _may(self, found: Resource, verb: str) -> bool | None:
        """Return whether the caller may do an action; None if the governing access model has no such action."""
        moment, action = self._moment, f"{found.type}.{verb}"
        model = model_for(moment.answers.models, moment.facts, found.type, found.id)
        if model is None or not model.has_action(action):
            return None
        return moment.answers.check(Question(moment.caller, action, found.id), moment.now).allowed
