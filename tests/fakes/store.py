"""A store in memory that fulfils the contract of the port, and that a test can make lose a write race."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import (
    Checkpoint,
    DocumentConflictError,
    DocumentPut,
    Head,
    LogEntry,
    LogWrite,
    Pointer,
    PointerConflictError,
    PointerMove,
    RevisionConflictError,
    RunConflictError,
)
from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow, RunUpdate
from headgate.control.kernel.stores import NumberedEntry
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.changes import Change, ResourceDeleted
from headgate.facts.ids import ResourceId, RunId

ELSEWHERE = "elsewhere"
"""The command of an entry that another process writes."""


class FakeStore:
    """Keeps `control.ports.Store` in plain lists.

    `before_append` runs once, just before the next append checks the revision.
    """

    def __init__(self, beside: "dict[ResourceId, FakeStore] | None" = None) -> None:
        """`beside` are the logs of the same deployment."""
        self._beside = {} if beside is None else beside
        self.log: list[LogEntry] = []
        self.bodies: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.at: dict[ResourceId, Pointer] = {}
        self.kept: list[Checkpoint] = []
        self.queue: dict[RunId, RunRow] = {}
        self.said: dict[RunId, list[RunLogLine]] = {}
        self.before_append: Callable[[], None] | None = None

    def head(self) -> Head:
        return self.log[-1].head if self.log else Head()

    def entries(self, after: int = 0) -> Iterator[LogEntry]:
        yield from self.log[after:]

    def entry(self, revision: int) -> LogEntry | None:
        return self.log[revision - 1] if 0 < revision <= len(self.log) else None

    def revision_at(self, at: float) -> int:
        return max((each.revision for each in self.log if each.at <= at), default=0)

    def checkpoint(self, at_most: int | None = None) -> Checkpoint | None:
        kept = (each for each in self.kept if at_most is None or each.revision <= at_most)
        return max(kept, key=lambda each: each.revision, default=None)

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        self.kept.append(checkpoint)

    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        racing, self.before_append = self.before_append, None
        if racing:
            racing()
        if expected != self.head():
            raise RevisionConflictError
        for draft in drafts:
            self._require_no_conflict(draft)
        for draft in drafts:
            self._add(draft)
        return self.head()

    def _require_no_conflict(self, draft: LogWrite) -> None:
        if draft.pointers:
            self._require_apart(draft.pointers)
        for put in draft.documents:
            self._require_document(put)
        for put in draft.runs:
            self._require(put)

    def _add(self, draft: LogWrite) -> None:
        self.log.append(_entry(self.head(), draft))
        for put in draft.documents:
            self.put_document(put)
        for change in draft.changes:
            if isinstance(change, ResourceDeleted):
                self.at.pop(change.resource, None)
        self.at |= {pointer.table: pointer for pointer in draft.pointers}
        self.queue |= {put.row.run: put.row for put in draft.runs}

    def _require_apart(self, new: Sequence[Pointer]) -> None:
        there = [pointer for store in (self, *self._beside.values()) for pointer in store.at.values()]
        if {each.table for each in there} & {each.table for each in new}:
            raise PointerConflictError
        if {each.place for each in there} & {each.place for each in new}:
            raise PointerConflictError

    def write(self, *changes: Change) -> None:
        """Append the changes of another process."""
        self.append(self.head(), LogWrite(0.0, None, ELSEWHERE, changes))

    def pointer(self, table: ResourceId) -> Pointer | None:
        return self.at.get(table)

    def pointers(self) -> Iterator[Pointer]:
        yield from self.at.values()

    def swap_pointers(self, moves: Sequence[PointerMove], documents: Sequence[DocumentPut] = ()) -> None:
        if any(self.at.get(move.expected.table) != move.expected for move in moves):
            raise PointerConflictError
        self.at |= {move.expected.table: Pointer(move.expected.table, move.new_location) for move in moves}
        for put in documents:
            self.put_document(put)

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        return self.bodies.get((kind, id))

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        return {id: body for (held, id), body in self.bodies.items() if held == kind and (ids is None or id in ids)}

    def put_document(self, put: DocumentPut) -> None:
        self._require_document(put)
        if put.body is None:
            self.bodies.pop((put.kind, put.id), None)
        else:
            self.bodies[put.kind, put.id] = put.body

    def run(self, run: RunId) -> RunRow | None:
        return self.queue.get(run)

    def runs(self, wanted: RunFilter, limit: int = 100) -> Sequence[RunRow]:
        found = [each for each in self.queue.values() if _is_wanted(each, wanted)]
        if wanted.due_before is not None:
            found.sort(key=lambda each: (each.due, each.run))
        elif wanted.lease_before is not None:
            found.sort(key=lambda each: (each.lease or 0.0, each.run))
        else:
            found.sort(key=lambda each: (each.queued, each.run), reverse=True)
        if wanted.of_each is not None:
            before = [Counter(each.pipeline for each in found[:place]) for place in range(len(found))]
            found = [each for each, counts in zip(found, before, strict=True) if counts[each.pipeline] < wanted.of_each]
        return found[:limit]

    def count_runs(self, wanted: RunFilter) -> int:
        return sum(_is_wanted(each, wanted) for each in self.queue.values())

    def put_run(self, put: RunUpdate) -> None:
        self._require(put)
        self.queue[put.row.run] = put.row

    def renew(
        self, run: RunId, worker: str, attempt: int, lease: float, figures: Mapping[str, Any] | None = None
    ) -> bool:
        there = self.queue.get(run)
        if there is None or (there.state, there.worker, there.attempt) != ("running", worker, attempt):
            return False
        self.queue[run] = replace(there, lease=lease, figures=there.figures if figures is None else figures)
        return True

    def append_log_lines(self, run: RunId, at: float, texts: Sequence[str]) -> None:
        said = self.said.setdefault(run, [])
        said.extend(RunLogLine(number, at, text) for number, text in enumerate(texts, len(said) + 1))

    def log_lines(self, run: RunId, after: int = 0, limit: int = 1000) -> Sequence[RunLogLine]:
        return self.said.get(run, [])[after : after + limit]

    def _require_document(self, put: DocumentPut) -> None:
        there = self.bodies.get((put.kind, put.id))
        if (put.new and there is not None) or put.expected not in (None, there):
            raise DocumentConflictError

    def _require(self, put: RunUpdate) -> None:
        if _moment(self.queue.get(put.row.run)) != _moment(put.expected):
            raise RunConflictError


class StuckStore(FakeStore):
    """Refuses every entry except those of another process, as if its revision was always taken."""

    @override
    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        if drafts[0].command == ELSEWHERE:
            return super().append(expected, *drafts)
        raise RevisionConflictError


class FakeStores:
    """Keeps `control.ports.Stores` in memory. `shared` has the value that the test sets."""

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared
        self.of: dict[ResourceId, FakeStore] = {}
        self.records: list[tuple[ResourceId, AuditRecord]] = []

    def log(self, root: ResourceId) -> FakeStore:
        return self.of.setdefault(root, FakeStore(self.of))

    def logs(self) -> Sequence[ResourceId]:
        return [root for root, store in self.of.items() if store.log]

    def changed_elsewhere(self) -> bool:
        return self.shared

    def check(self) -> None:
        """Report no fault: a store in memory cannot fail."""

    def heads(self, roots: Sequence[ResourceId]) -> Mapping[ResourceId, Head]:
        return {root: self.log(root).head() for root in roots}

    def newest_entry(self) -> NumberedEntry | None:
        return None

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        found = ((root, store.document(kind, id)) for root, store in self.of.items())
        return next(((root, body) for root, body in found if body is not None), None)

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        self.records.extend(records)

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        newest = [(number, record) for number, (of, record) in enumerate(self.records) if of == root][::-1]
        found = [(number, record) for number, record in newest if _wanted(record, wanted)]
        return [each for each in found if before is None or each[0] < before][:limit]

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:
        return lambda: None

    def close(self) -> None:
        self.of.clear()


def _entry(last: Head, draft: LogWrite) -> LogEntry:
    said = LogEntry(last.revision + 1, draft.at, draft.actor, draft.command, draft.changes, draft.origin, draft.grounds)
    return replace(said, hash=hashlib.sha256(f"{last.hash} {said}".encode()).hexdigest(), previous_hash=last.hash)


def _moment(row: RunRow | None) -> tuple[str, int, str] | None:
    return None if row is None else (row.state, row.attempt, row.worker)


def _is_wanted(row: RunRow, wanted: RunFilter) -> bool:
    return all(
        (
            wanted.pipeline in (None, row.pipeline),
            wanted.states is None or row.state in wanted.states,
            wanted.due_before is None or row.due <= wanted.due_before,
            wanted.lease_before is None or (row.lease is not None and row.lease < wanted.lease_before),
            wanted.since is None or row.queued >= wanted.since,
            wanted.before is None or (row.queued, row.run) < wanted.before,
        )
    )


def _wanted(record: AuditRecord, wanted: AuditFilter) -> bool:
    pairs = (
        (wanted.principal, record.principal),
        (wanted.action, record.action),
        (wanted.allowed, record.allowed),
        (wanted.door, record.origin.door),
        (wanted.request, record.origin.request),
    )
    if any(asked not in (None, given) for asked, given in pairs):
        return False
    names = (wanted.resource,) if isinstance(wanted.resource, str) else wanted.resource
    if names is not None and record.resource not in names:
        return False
    return (wanted.since is None or record.at >= wanted.since) and (wanted.until is None or record.at < wanted.until)
