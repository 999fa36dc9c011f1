"""Cached rows of a visualization: stored by its last run, with the tables from which they were read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.control import Control
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definitions.chart import ChartRows

KIND = "shown"
"""The kind of the document; its id is the pipeline's, and it is deleted with the pipeline."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The cached rows, their run, the time at which they were stored (seconds since the epoch), and their tables."""

    rows: ChartRows
    run: RunId
    at: float
    tables: tuple[ResourceId, ...]

    def is_visible_to(self, control: Control, caller: Caller) -> bool:
        """Whether the caller may now read all tables of the rows, even if the pipeline declares others by now."""
        asked = (Question(caller, "table.select", each) for each in self.tables)
        return all(control.ask(each).allowed for each in asked)


def row_saver(control: Control, store: Store, run: RunId, pipeline: ResourceId) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that stores the rows of a run that begins now, and replaces those of the pipeline's earlier runs."""
    found = control.snapshot.resources.get(pipeline)
    tables = [edge.target for edge in found.edges("inputs")] if found else []

    def keep(rows: Mapping[str, Any]) -> None:
        if pipeline in control.snapshot.resources:
            body = {**rows, "run": run, "at": control.now, "tables": tables}
            store.put_document(DocumentPut(KIND, pipeline, body))

    return keep


def load_rows(store: Store, pipeline: ResourceId) -> Shown | None:
    """Return the cached rows of a pipeline, or None."""
    document = store.document(KIND, pipeline)
    if document is None:
        return None
    rows = ChartRows.model_validate({name: document[name] for name in ChartRows.model_fields})
    tables = tuple(map(ResourceId, document["tables"]))
    return Shown(rows, RunId(str(document["run"])), float(document["at"]), tables)
