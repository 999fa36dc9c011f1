"""The rows that a visualization shows: kept by its last run, with the tables that they were read from."""

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
"""The kind of document; its id is the pipeline's, with which it goes."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is kept: the rows, the run that they are of, and when it kept them (seconds since the epoch)."""

    rows: ChartRows
    run: RunId
    at: float
    tables: tuple[ResourceId, ...]

    def is_visible_to(self, control: Control, caller: Caller) -> bool:
        """Say whether somebody may read all that the rows are from: now, whatever the pipeline has come to declare."""
        asked = (Question(caller, "table.select", each) for each in self.tables)
        return all(control.ask(each).allowed for each in asked)


def row_saver(control: Control, store: Store, run: RunId, pipeline: ResourceId) -> Callable[[Mapping[str, Any]], None]:
    """Return what keeps rows of a run that begins now, in the place of those of its pipeline's runs before."""
    found = control.snapshot.resources.get(pipeline)
    tables = [edge.target for edge in found.edges("inputs")] if found else []

    def keep(rows: Mapping[str, Any]) -> None:
        if pipeline in control.snapshot.resources:
            body = {**rows, "run": run, "at": control.now, "tables": tables}
            store.put_document(DocumentPut(KIND, pipeline, body))

    return keep


def load_rows(store: Store, pipeline: ResourceId) -> Shown | None:
    """Return what is kept for a pipeline, or None."""
    document = store.document(KIND, pipeline)
    if document is None:
        return None
    rows = ChartRows.model_validate({name: document[name] for name in ChartRows.model_fields})
    tables = tuple(map(ResourceId, document["tables"]))
    return Shown(rows, RunId(str(document["run"])), float(document["at"]), tables)
