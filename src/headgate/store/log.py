"""The store of one log. Implements `headgate.control.kernel.ports.Store`."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select, update

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
    StoreError,
)
from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow, RunUpdate
from headgate.facts.changes import ResourceDeleted
from headgate.facts.ids import ResourceId, RunId
from headgate.store import hash_chain, seals
from headgate.store.checkpoints import StoredCheckpoints
from headgate.store.database import Database, is_storable_text
from headgate.store.log_rows import entry_of, row_of
from headgate.store.queue import Queue
from headgate.store.rollback_protection import require_not_rolled_back
from headgate.store.seal_keys import KnownKeys, SealKey
from headgate.store.sealer import Sealer
from headgate.store.seals import Seal
from headgate.store.tables import documents, log_table, pointers
from headgate.store.verification import Seen, VerificationResult, ignore_progress, require_next, verify_store

logger = logging.getLogger(__name__)

_PAGE = 500
_ROOT = bindparam("root")
_LAST = select(log_table).where(log_table.c.log_id == _ROOT).order_by(log_table.c.revision.desc()).limit(1)
_HEAD = (
    select(log_table.c.revision, log_table.c.hash)
    .where(log_table.c.log_id == _ROOT)
    .order_by(log_table.c.revision.desc())
    .limit(1)
)
_HASH = select(log_table.c.hash).where(log_table.c.log_id == _ROOT, log_table.c.revision == bindparam("revision"))
_ENTRIES = (
    select(log_table)
    .where(log_table.c.log_id == _ROOT, log_table.c.revision > bindparam("after"))
    .order_by(log_table.c.revision)
)
_DOCUMENTS = select(documents.c.id, documents.c.body).where(
    documents.c.log_id == _ROOT, documents.c.kind == bindparam("kind")
)
_DOCUMENT = _DOCUMENTS.where(documents.c.id == bindparam("id"))
_SOME = _DOCUMENTS.where(documents.c.id.in_(bindparam("ids", expanding=True)))
_POINTER = select(pointers.c.metadata_location).where(
    pointers.c.log_id == _ROOT, pointers.c.table_id == bindparam("table")
)


class SqlStore:
    """The entries, documents, pointers and runs of one log. Every write is one transaction that survives a crash."""

    def __init__(self, database: Database, root: ResourceId, signer: SealKey, sealer: Sealer | None = None) -> None:
        """`signer` signs checkpoints, `sealer` the log; without a sealer the log is not sealed."""
        self._database = database
        self._sealer = sealer
        self._checkpoints = StoredCheckpoints(database, root, signer)
        self._queue = Queue(database, root)
        self.root = root

    def head(self) -> Head:
        """Return the newest entry's revision and hash."""
        return _head_of(self._database.rows(_HEAD, root=self.root))

    def entries(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield the entries above revision `after`, oldest first, each verified to follow the one before it.

        Raises `StoreError` for an entry that cannot be read, was altered, or is missing.
        """
        previous: str | None = None
        for row in self.rows(after):
            entry, after = entry_of(row), after + 1
            require_next(self.root, row, after, self._hash(after - 1) if previous is None else previous)
            previous = row.hash
            yield entry

    def entry(self, revision: int) -> LogEntry | None:
        """Return one entry, or None."""
        query = select(log_table).where(log_table.c.log_id == self.root, log_table.c.revision == revision)
        return next(map(entry_of, self._database.rows(query)), None)

    def revision_at(self, at: float) -> int:
        """Return the newest revision written at or before a time (seconds since the epoch); 0 if there is none."""
        query = select(log_table.c.revision).where(log_table.c.log_id == self.root, log_table.c.at <= at)
        found = self._database.rows(query.order_by(log_table.c.revision.desc()).limit(1))
        return found[0].revision if found else 0

    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        """Append drafts after the entry `expected`, in one transaction, and return the new head.

        Raises `RevisionConflictError` if `expected` is not the newest entry, by its revision or its hash;
        `PointerConflictError` if a draft creates a pointer with the id or the folder of an existing table of any log;
        `DocumentConflictError` or `RunConflictError` if a document or a run is not as expected; `StoreError` if the drafts
        cannot be written. Then nothing is written.
        """
        with self._database.transaction() as connection:
            head = self._add_entries(connection, expected, drafts)
            for draft in drafts:
                self._add_details(connection, draft)
            self._database.backend.announce(connection, self.root, head.revision)
        self._seal_now_and_then(expected.revision, head.revision)
        return head

    def checkpoint(self, at_most: int | None = None) -> Checkpoint | None:
        """Return the newest valid checkpoint, not above the revision `at_most` if that is given; None if there is none."""
        return self._checkpoints.newest(at_most)

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Sign and store a checkpoint, and delete expired ones; see `headgate.store.checkpoints`."""
        self._checkpoints.put(checkpoint)

    def pointer(self, table: ResourceId) -> Pointer | None:
        """Return the table's pointer, or None."""
        if not is_storable_text(table):
            return None
        found = self._database.rows(_POINTER, root=self.root, table=table)
        return Pointer(table, found[0].metadata_location) if found else None

    def pointers(self) -> Iterator[Pointer]:
        """Yield every pointer, in no particular order."""
        query = select(pointers.c.table_id, pointers.c.metadata_location).where(pointers.c.log_id == self.root)
        for row in self._database.rows(query):
            yield Pointer(ResourceId(row.table_id), row.metadata_location)

    def swap_pointers(self, moves: Sequence[PointerMove], documents: Sequence[DocumentPut] = ()) -> None:
        """Move the pointers of a data commit and write its documents, all or none (no log entry).

        Raises `PointerConflictError` if another commit has moved one of the pointers.
        """
        with self._database.transaction() as connection:
            # Sorted, so that two commits lock the rows in the same order and cannot deadlock.
            for move in sorted(moves, key=lambda each: each.expected.table):
                self._move_pointer(connection, move)
            for put in documents:
                self._put(connection, put)

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        if not is_storable_text(id):
            return None
        return _bodies(self._database.rows(_DOCUMENT, root=self.root, kind=kind, id=id)).get(id)

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the documents of a kind by id: all, or those with the given ids."""
        named = {"root": self.root, "kind": kind}
        if ids is None:
            return _bodies(self._database.rows(_DOCUMENTS, **named))
        wanted = [id for id in dict.fromkeys(ids) if is_storable_text(id)]
        pages = (wanted[start : start + _PAGE] for start in range(0, len(wanted), _PAGE))
        return _bodies(row for page in pages for row in self._database.rows(_SOME, **named, ids=page))

    def put_document(self, put: DocumentPut) -> None:
        """Write a document outside a command. Raises `DocumentConflictError` if the stored one is not as expected."""
        with self._database.transaction() as connection:
            self._put(connection, put)

    def run(self, run: RunId) -> RunRow | None:
        """Return one run, or None."""
        return self._queue.run(run)

    def runs(self, wanted: RunFilter, limit: int = 100) -> Sequence[RunRow]:
        """Return at most `limit` matching runs: the newest first, or, for a filter of due runs, the earliest due first."""
        return self._queue.runs(wanted, limit)

    def count_runs(self, wanted: RunFilter) -> int:
        """Return the number of matching runs."""
        return self._queue.count(wanted)

    def put_run(self, put: RunUpdate) -> None:
        """Write a run outside a command. Raises `RunConflictError` if the stored one is not as expected."""
        with self._database.transaction() as connection:
            self._queue.put(connection, put)

    def renew(
        self, run: RunId, worker: str, attempt: int, lease: float, figures: Mapping[str, Any] | None = None
    ) -> bool:
        """Extend the lease of an attempt, and update its figures if given. Return whether this worker still holds it."""
        return self._queue.renew(run, worker, attempt, lease, figures)

    def append_log_lines(self, run: RunId, at: float, texts: Sequence[str]) -> None:
        """Add lines to a run's log."""
        self._queue.append_log_lines(run, at, texts)

    def log_lines(self, run: RunId, after: int = 0, limit: int = 1000) -> Sequence[RunLogLine]:
        """Return at most `limit` lines of a run's log, those with a number above `after`, in order."""
        return self._queue.log_lines(run, after, limit)

    def verify(
        self,
        given: Sequence[Seal] = (),
        seen: Seen = ignore_progress,
        known: KnownKeys | None = None,
        mark: Seal | None = None,
    ) -> VerificationResult:
        """Verify the hash chain, the stored seals, the seals `given` (kept elsewhere), and the high-water mark.

        The newest checkpoint is compared with the entries too.

        Raises `StoreError` that names the first invalid revision.
        """
        proof = verify_store(
            self.root, self.rows(), [*seals.list_seals(self._database, self.root), *given], known, seen
        )
        if mark is not None:
            require_not_rolled_back(mark, proof.sealed, self._hash)
        self._checkpoints.compare(self.entries())
        return proof

    def seal(self) -> Seal | None:
        """Sign the newest entry; None for an empty log.

        Raises `StoreError` if the store was opened without a key, or the log fails verification.
        """
        if self._sealer is None:
            raise StoreError("internal error: the store was opened without a key to seal its logs; report it")
        sealed = self._sealer.seal({self.root: self.rows})
        if sealed.refused:
            raise sealed.refused[0]
        return next(iter(sealed.seals), None)

    def rows(self, after: int = 0) -> Iterator[Row[Any]]:
        """Yield the rows of the entries above revision `after`, read in pages: a slow reader keeps no transaction open."""
        query = _ENTRIES.limit(_PAGE)
        while page := self._database.rows(query, root=self.root, after=after):
            yield from page
            after = page[-1].revision

    def _hash(self, revision: int) -> str:
        """Return the stored hash of an entry; the genesis hash if there is no such entry."""
        found = self._database.rows(_HASH, root=self.root, revision=revision)
        return found[0].hash if found else hash_chain.GENESIS

    def _add_entries(self, connection: Connection, expected: Head, drafts: Sequence[LogWrite]) -> Head:
        newest, head, rows = (
            _head_of(connection.execute(_HEAD, {"root": self.root}).all()),
            expected,
            list[dict[str, Any]](),
        )
        for draft in drafts:
            rows.append(row_of(self.root, head.revision + 1, draft, head.hash))
            head = Head(rows[-1]["revision"], rows[-1]["hash"])
        # A concurrent writer may insert the same revision between the read and this insert: then the insert is refused.
        if newest != expected or not self._database.insert_new(connection, log_table, *rows):
            raise RevisionConflictError(
                f"revision {expected.revision} of the log `{self.root}` is not the newest any more; read the log again and retry"
            )
        return head

    def _add_details(self, connection: Connection, draft: LogWrite) -> None:
        """Write everything of a draft except its log entry."""
        for put in draft.documents:
            self._put(connection, put)
        self._drop_pointers(connection, draft)
        for pointer in draft.pointers:
            self._add_pointer(connection, pointer)
        for run in draft.runs:
            self._queue.put(connection, run)

    def _seal_now_and_then(self, before: int, newest: int) -> None:
        """Seal an entry if one after revision `before` is due for a seal. The entries stay written if sealing fails."""
        revision = newest - newest % seals.ENTRIES_PER_SEAL
        if self._sealer is None or revision <= before:
            return
        try:
            self._sealer.seal({self.root: self.rows}, revision).report()
        except StoreError:
            logger.exception(
                "cannot seal revision %d of the log `%s`, which is stored; correct the error that follows, and Headgate seals it with a later revision",
                revision,
                self.root,
            )

    def _put(self, connection: Connection, put: DocumentPut) -> None:
        key = {"log_id": self.root, "kind": put.kind, "id": put.id}
        if put.expected is not None:
            self._put_where_expected(connection, put, key, put.expected)
            return
        if put.body is None:
            connection.execute(delete(documents).filter_by(**key))
            return
        body = _text(put.body)
        if put.new:
            if not self._database.insert_new(connection, documents, {**key, "body": body}):
                raise DocumentConflictError(f"there is a {put.kind} `{put.id}` already; use another id")
            return
        self._database.replace(connection, documents, {**key, "body": body})

    def _put_where_expected(
        self, connection: Connection, put: DocumentPut, key: Mapping[str, str], expected: Mapping[str, Any]
    ) -> None:
        changed = delete(documents) if put.body is None else update(documents).values(body=_text(put.body))
        there = changed.filter_by(**key, body=_text(expected))
        if connection.execute(there).rowcount != 1:
            raise DocumentConflictError(
                f"the {put.kind} `{put.id}` was changed or deleted since it was read; read it again and retry"
            )

    def _drop_pointers(self, connection: Connection, draft: LogWrite) -> None:
        gone = [change.resource for change in draft.changes if isinstance(change, ResourceDeleted)]
        for table in gone:
            connection.execute(delete(pointers).where(pointers.c.log_id == self.root, pointers.c.table_id == table))

    def _move_pointer(self, connection: Connection, move: PointerMove) -> None:
        table, location = move.expected.table, move.expected.metadata_location
        place = Pointer(table, move.new_location).place
        statement = (
            update(pointers)
            .where(pointers.c.log_id == self.root, pointers.c.table_id == table)
            .where(pointers.c.metadata_location == location)
            .values(metadata_location=move.new_location, previous_location=location, place=place)
        )
        if connection.execute(statement).rowcount != 1:
            raise PointerConflictError(
                f"another commit changed the metadata of the table `{table}`; nothing was written, so load the table again and retry"
            )

    def _add_pointer(self, connection: Connection, pointer: Pointer) -> None:
        values = {"table_id": pointer.table, "metadata_location": pointer.metadata_location, "place": pointer.place}
        if not self._database.insert_new(connection, pointers, {"log_id": self.root, **values}):
            raise PointerConflictError(
                f"the id or the folder of the table `{pointer.table}` belongs to another table; create the table with a new id "
                "and in a new folder"
            )


def _head_of(newest: Sequence[Any]) -> Head:
    return Head(newest[0].revision, newest[0].hash) if newest else Head()


def _bodies(rows: Iterable[Row[Any]]) -> dict[str, Mapping[str, Any]]:
    return {row.id: json.loads(row.body) for row in rows}


def _text(body: Mapping[str, Any]) -> str:
    """Return the canonical JSON of a document, in ASCII, so that any JSON text can be stored."""
    return json.dumps(dict(body), sort_keys=True, separators=(",", ":"), allow_nan=False)
