"""Records lineage: what each run actually read and wrote is stored when it ends, and passed to a listener."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.kernel.ports import DocumentPut, StoreError
from headgate.control.kernel.run_queue import ENDED_STATES, SUCCEEDED, RunRow
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.commits import committed_among
from headgate.control.pipelines.run_access_log import READING, allowed_actions, read_written_columns
from headgate.decision.run_scope import pipeline_edges
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource, Snapshot

log = logging.getLogger(__name__)

KIND = "lineage"
"""The kind of the document with what a run read and wrote, by the id of the run."""

LATEST = "lineage_latest"
"""The kind of the same document of a pipeline's newest successful run, by the id of the pipeline."""

Column = tuple[ResourceId, str]
"""A column of a table."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A run's write to a table: the rows and bytes added, the columns with their types, and the sources of each column."""

    rows: int = 0
    bytes: int = 0
    columns: tuple[tuple[str, str], ...] = ()
    sources: Mapping[str, tuple[Column, ...]] = field(default_factory=dict[str, tuple[Column, ...]])


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The tables and connections that a run read and wrote."""

    inputs: tuple[ResourceId, ...] = ()
    outputs: Mapping[ResourceId, TableWrite] = field(default_factory=dict[ResourceId, TableWrite])


LineageListener = Callable[[Organization, RunRow, RunTrace], None]
"""Called for each run that has begun or ended. It must neither raise nor block."""


class LineageRecorder:
    """Stores the lineage of runs. No method raises, or waits for anything but the store."""

    def __init__(self, tell: LineageListener = lambda *_: None, close: Callable[[], None] = lambda: None) -> None:
        """`close` closes the listener `tell`, which may still have events to send then."""
        self._tell = tell
        self.close = close

    def record_start(self, organization: Organization, run: RunId) -> None:
        """Notify the listener that a run's first attempt begins."""
        self._safely(organization, run, self._record_start)

    def record_end(self, organization: Organization, run: RunId) -> None:
        """Store what a run has read and written, and notify the listener, unless the run is only to be retried."""
        self._safely(organization, run, self._record_end)

    def _record_start(self, organization: Organization, row: RunRow) -> None:
        if row.attempt == 1 and row.state not in ENDED_STATES:
            self._tell(organization, row, RunTrace())

    def _record_end(self, organization: Organization, row: RunRow) -> None:
        if row.state not in ENDED_STATES or row.started is None:
            return
        # Changes that other processes wrote during the run have the names of the tables that it created.
        organization.control.catch_up()
        trace = _gather(organization, row)
        kept = {"run": row.run, "at": row.ended, **_plain(trace)}
        organization.store.put_document(DocumentPut(KIND, row.run, kept))
        if row.state == SUCCEEDED and row.pipeline in organization.control.snapshot.resources:
            organization.store.put_document(DocumentPut(LATEST, row.pipeline, kept))
        self._tell(organization, row, trace)

    def _safely(self, organization: Organization, run: RunId, do: Callable[[Organization, RunRow], None]) -> None:
        try:
            row = organization.store.run(run)
            if row is not None:
                do(organization, row)
        except StoreError as error:
            log.warning("the lineage of the run `%s` could not be stored: %s", run, error)
        except Exception:
            log.exception("the lineage of the run `%s` could not be stored", run)


def trace_of(organization: Organization, row: RunRow) -> RunTrace:
    """Return the trace of a run, until now if the run has not ended."""
    kept = organization.store.document(KIND, row.run)
    return _gather(organization, row) if kept is None else trace_from_document(kept)


def trace_from_document(document: Mapping[str, Any]) -> RunTrace:
    """Return the trace in a document of the kind `KIND` or `LATEST`."""
    return RunTrace(
        tuple(ResourceId(id) for id in document["inputs"]),
        {ResourceId(id): _parse_table_write(said) for id, said in document["outputs"].items()},
    )


def _gather(organization: Organization, row: RunRow) -> RunTrace:
    facts, store = organization.control.snapshot, organization.store
    pipeline = facts.resources.get(row.pipeline)
    touched = allowed_actions(store, row.run)
    made = {edge.target for edge in pipeline.relations.get("outputs", ())} if pipeline else set[ResourceId]()
    found = committed_among(store, row.run, touched.keys() | made)
    sources = read_written_columns(store, row.run)
    outputs = {id: _build_table_write(facts, id, said, sources) for id, said in sorted(found.items())}
    declared = {edge.target for edge in pipeline.edges("inputs")} if pipeline else set[ResourceId]()
    read = {id for id, actions in touched.items() if READING in actions and (id not in outputs or id in declared)}
    inside, outside = _outside(facts, pipeline)
    return RunTrace((*sorted(read), *inside), {**outputs, **dict.fromkeys(outside, TableWrite())})


def _outside(facts: Snapshot, pipeline: Resource | None) -> tuple[list[ResourceId], list[ResourceId]]:
    """Return the connections that a pipeline reads from, and those that it writes to."""
    named = sorted({edge.target for edge in pipeline_edges(facts, pipeline, "connections")}) if pipeline else []
    return ([], named) if pipeline and pipeline.type == "destination" else (named, [])


def _build_table_write(
    facts: Snapshot, table: ResourceId, said: Mapping[str, Any], sources: Mapping[str, Mapping[str, Iterable[Any]]]
) -> TableWrite:
    name = ".".join(facts.full_name(table)) if table in facts.resources else ""
    came = {
        column: tuple((there.id, str(of)) for name, of in whence if (there := facts.find(name.split("."))) is not None)
        for column, whence in sources.get(name, {}).items()
    }
    columns = tuple((str(name), str(type)) for name, type in said["columns"])
    return TableWrite(said["rows"], said["bytes"], columns, came)


def _plain(trace: RunTrace) -> dict[str, Any]:
    outputs = {
        id: {"rows": each.rows, "bytes": each.bytes, "columns": list(each.columns), "sources": dict(each.sources)}
        for id, each in trace.outputs.items()
    }
    return {"inputs": list(trace.inputs), "outputs": outputs}


def _parse_table_write(said: Mapping[str, Any]) -> TableWrite:
    columns = tuple((str(name), str(type)) for name, type in said["columns"])
    sources = {
        column: tuple((ResourceId(id), str(name)) for id, name in whence) for column, whence in said["sources"].items()
    }
    return TableWrite(said["rows"], said["bytes"], columns, sources)
