"""Runs as OpenLineage events: one for the beginning and one for the end of each. Imported only when the first is needed."""

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    error_message_run,
    job_type_job,
    nominal_time_run,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
)
from openlineage.client.serde import Serde

from headgate.control.kernel.run_queue import CANCELLED, ENDED_STATES, SUCCEEDED, RunRow
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.pipelines.lineage.recorder import RunTrace, TableWrite

PRODUCER: Final = "https://github.com/headgate/headgate"
"""The URI by which consumers know the software that made an event."""

_STREAMS: Final = ("stream_capture",)

Visible = Callable[[ResourceId], bool]
"""Whether a table, or another dataset, may appear in an event."""


class EventBuilder:
    """Builds the events of one organization from its facts; datasets that are not `visible`, or were deleted, are left out."""

    def __init__(
        self,
        facts: Snapshot,
        visible: Visible = lambda _: True,
        *,
        counts: Visible = lambda _: True,
        says_why: bool = True,
    ) -> None:
        """`counts` returns whether the rows and bytes of a table are included; `says_why` is whether a failure's reason is."""
        self._facts = facts
        self._visible = visible
        self._counts = counts
        self._says_why = says_why
        self._namespace = f"headgate://{facts.organization}"

    def build_start(self, row: RunRow) -> dict[str, Any]:
        """Return the event of the beginning of a run that has begun."""
        return self._event(RunState.START, row.started or row.queued, row, RunTrace())

    def build_end(self, row: RunRow, trace: RunTrace) -> dict[str, Any]:
        """Return the event of the end of a run that has ended."""
        done = {SUCCEEDED: RunState.COMPLETE, CANCELLED: RunState.ABORT}
        return self._event(done.get(row.state, RunState.FAIL), row.ended or row.queued, row, trace)

    def build_all(self, row: RunRow, trace: Callable[[], RunTrace]) -> Iterator[dict[str, Any]]:
        """Yield the events of a run so far, the newest first."""
        if row.started is not None:
            if row.state in ENDED_STATES:
                yield self.build_end(row, trace())
            yield self.build_start(row)

    def _event(self, state: RunState, at: float, row: RunRow, trace: RunTrace) -> dict[str, Any]:
        event = RunEvent(
            eventType=state,
            eventTime=_time(at),
            run=self._run(row, state),
            job=self._job(row.pipeline),
            inputs=[InputDataset(self._namespace, self._name(id)) for id in trace.inputs if self._is_shown(id)],
            outputs=[self._output(id, left) for id, left in trace.outputs.items() if self._is_shown(id)],
            producer=PRODUCER,
        )
        return json.loads(Serde.to_json(event))

    def _run(self, row: RunRow, state: RunState) -> Run:
        facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(_spark(), "Spark")
        }
        if row.trigger == "schedule":
            facets["nominalTime"] = nominal_time_run.NominalTimeRunFacet(_time(row.due))
        if state is RunState.FAIL and self._says_why:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(row.why, "PYTHON")
        return Run(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._namespace}/runs/{row.run}")), _set_producer(facets))

    def _job(self, pipeline: ResourceId) -> Job:
        found = self._facts.resources.get(pipeline)
        if found is None:
            return Job(self._namespace, pipeline)
        processing = "STREAMING" if found.type in _STREAMS else "BATCH"
        kind = job_type_job.JobTypeJobFacet(processing, "HEADGATE", found.type.upper())
        return Job(self._namespace, self._name(pipeline), _set_producer({"jobType": kind}))

    def _output(self, id: ResourceId, left: TableWrite) -> OutputDataset:
        facets: dict[str, Any] = {}
        if left.columns:
            named = [schema_dataset.SchemaDatasetFacetFields(name, type) for name, type in left.columns]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(named)
        came = {name: self._fields(left, name) for name in left.sources}
        if shown := {name: fields for name, fields in came.items() if fields.inputFields}:
            facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(shown)
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(left.rows, left.bytes)
        added = _set_producer({"outputStatistics": statistics}) if left.columns and self._counts(id) else {}
        return OutputDataset(self._namespace, self._name(id), outputFacets=added, facets=_set_producer(facets))

    def _fields(self, left: TableWrite, column: str) -> column_lineage_dataset.Fields:
        return column_lineage_dataset.Fields(
            [
                column_lineage_dataset.InputField(self._namespace, self._name(id), name)
                for id, name in left.sources[column]
                if self._is_shown(id)
            ]
        )

    def _is_shown(self, id: ResourceId) -> bool:
        return id in self._facts.resources and self._visible(id)

    def _name(self, id: ResourceId) -> str:
        return ".".join(self._facts.full_name(id))


def _set_producer(facets: dict[str, Any]) -> dict[str, Any]:
    for each in facets.values():
        each._producer = PRODUCER  # noqa: SLF001 (the library has a default for the whole process only)
    return facets


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def _spark() -> str:
    return version("pyspark")
