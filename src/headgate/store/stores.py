"""The store of a deployment: every log in one database. Implements `headgate.control.kernel.stores.Stores`."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import String, bindparam, cast, delete, func, select, union

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Head, Pointer, StoreError
from headgate.control.kernel.stores import NumberedEntry
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.store import audit, sqlite
from headgate.store.backends import DatabaseBackend
from headgate.store.database import Database, is_storable_text
from headgate.store.export import export_log
from headgate.store.import_log import import_log
from headgate.store.log import SqlStore
from headgate.store.rollback_protection import HighWaterMarks
from headgate.store.seal_keys import KnownKeys, SealKey
from headgate.store.sealer import Sealer
from headgate.store.seals import Seal, newest_seals
from headgate.store.tables import FIRST, checkpoints, documents, log_table, seals
from headgate.store.verification import ReadRows, Seen, VerificationResult, ignore_progress

logger = logging.getLogger(__name__)

MEMORY = ":memory:"
"""The name of a store in memory, which ends with its process."""

_EVERY = log_table.alias("every")
# Revision and hash in one text, so that the newest row of each log is looked up once.
_NEWEST = (
    select(cast(_EVERY.c.revision, String) + ":" + _EVERY.c.hash)
    .where(_EVERY.c.log_id == log_table.c.log_id)
    .order_by(_EVERY.c.revision.desc())
    .limit(1)
    .scalar_subquery()
)
_HEADS = select(log_table.c.log_id, _NEWEST.label("head")).where(
    FIRST, log_table.c.log_id.in_(bindparam("roots", expanding=True))
)
_ANYWHERE = (
    select(documents.c.log_id, documents.c.body)
    .where(documents.c.kind == bindparam("kind"), documents.c.id == bindparam("id"))
    .limit(1)
)


def open_stores(where: str | Path, log_key: Path | None = None) -> "SqlStores":
    """Open the store of a data folder, a `postgresql://` URL, or `:memory:`; an empty one gets its tables.

    The logs are sealed by the key in the file `log_key`, which is created if it is missing; without a file they are not
    sealed. Raises `StoreError` if the store or the key cannot be used.
    """
    database = Database(_backend(where))
    try:
        return SqlStores(database, log_key)
    except StoreError:
        database.close()
        raise


class SqlStores:
    """All logs of a deployment. Safe to use from several threads."""

    def __init__(self, database: Database, log_key: Path | None = None) -> None:
        self._database = database
        self._sealer = None if log_key is None else Sealer(database, log_key)
        # Without a key of the deployment, only checkpoints that this process wrote can be used.
        self._signer = SealKey.generate() if self._sealer is None else self._sealer.key
        if self._sealer is not None:
            self._sealer.begin(self.logs())

    def changed_elsewhere(self) -> bool:
        """Whether another process may have written since the last call; True if the store cannot know."""
        return self._database.changed_elsewhere()

    def check(self) -> None:
        """Raise `StoreError` unless the store can be read and, if its last write failed, written again."""
        if not self._database.unwritten:
            self.logs()
            return
        probe = {"log_id": "", "kind": "probe", "id": "probe"}
        with self._database.transaction() as connection:
            self._database.insert_new(connection, documents, {**probe, "body": "{}"})
            connection.execute(delete(documents).filter_by(**probe))

    def log(self, root: ResourceId) -> SqlStore:
        """Return the store of a log, which need not have entries yet."""
        return SqlStore(self._database, root, self._signer, self._sealer)

    def logs(self) -> Sequence[ResourceId]:
        """Return the roots of the logs that have entries."""
        rows = self._database.rows(select(log_table.c.log_id).where(FIRST).order_by(log_table.c.log_id))
        return [ResourceId(row.log_id) for row in rows]

    def heads(self, roots: Sequence[ResourceId]) -> Mapping[ResourceId, Head]:
        """Return the newest revision and hash of each of these logs, in one read."""
        return dict.fromkeys(roots, Head()) | {
            ResourceId(row.log_id): _head_of(row.head) for row in self._database.rows(_HEADS, roots=roots)
        }

    def newest_entry(self) -> NumberedEntry | None:
        """Return the newest entry of all logs; None if there is none, or if the store is not a local file."""
        return self._database.newest_entry()

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        """Return a document of any log and the root of that log, for kinds with globally unique ids; None if there is none."""
        if not is_storable_text(id):
            return None
        found = self._database.rows(_ANYWHERE, kind=kind, id=id)
        return (ResourceId(found[0].log_id), json.loads(found[0].body)) if found else None

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        """Store audit records, each with the root of its log, in one write."""
        with self._database.transaction() as connection:
            audit.store_records(connection, records)

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Return at most `limit` audit records of a log with their numbers, newest first, those with a number below `before`."""
        return [audit.record_of(row) for row in self._database.rows(audit.query(root, wanted, before, limit))]

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:
        """Call `heard` with root and revision when another process has written; return a function that stops the calls.

        Only a shared store notifies. Some revisions are never notified: nothing may depend on a call.
        """
        if not self._database.backend.shared:
            return lambda: None
        from headgate.store.notifications import listen_for_revisions  # noqa: PLC0415 - with the driver of PostgreSQL only

        return listen_for_revisions(self._database.backend.engine, heard, tasks)

    def seal(self) -> list[Seal]:
        """Sign the newest entry of every log, and return the seals. Raises `StoreError` if a log fails verification."""
        if self._sealer is None:
            raise StoreError("internal error: the store was opened without a key to seal its logs; report it")
        sealed = self._sealer.seal(self._rows_of(self.logs()))
        if sealed.refused:
            raise sealed.refused[0]
        return sealed.seals

    def verify(
        self,
        given: Sequence[Seal] = (),
        seen: Seen = ignore_progress,
        known: KnownKeys | None = None,
        marks: HighWaterMarks | None = None,
    ) -> list[VerificationResult]:
        """Verify every log, or raise `StoreError` with the first invalid revision; see `SqlStore.verify`."""
        marked = marks.read() if marks is not None else {}
        found = self._database.rows(union(select(log_table.c.log_id), select(seals.c.log_id)))
        roots = sorted({*(row.log_id for row in found), *(seal.log for seal in given), *marked})
        return [
            self.log(root).verify([seal for seal in given if seal.log == root], seen, known, marked.get(root))
            for root in roots
        ]

    def accept(self, marks: HighWaterMarks, known: KnownKeys) -> None:
        """Replace the marks by the newest seals of known keys. The logs should have been verified before."""
        marks.replace(newest_seals(self._database, self.logs(), known).values())

    def drop_checkpoints(self) -> None:
        """Delete every checkpoint: the next start reads the logs from their beginning."""
        with self._database.transaction() as connection:
            connection.execute(delete(checkpoints))

    def export(self, root: ResourceId) -> Iterator[str]:
        """Yield the lines of the export of one log, as it is now (`headgate.store.export`). Raises `StoreError`."""
        return export_log(self._database, root)

    def take(
        self, lines: Iterable[str], may_hold: Callable[[Pointer], bool], is_model: Callable[[str], bool]
    ) -> Snapshot:
        """Import the log of an exported file and return its newest facts.

        `may_hold` returns whether the organization may own the files of a table, `is_model` whether a text is the source of
        a model. Raises `StoreError` for an incomplete file, a log that exists already and files that are not the
        organization's; then nothing is written.
        """
        return import_log(self._database, lines, may_hold, is_model)

    def settle(self) -> None:
        """Remove erased rows from the files of an embedded store; PostgreSQL does that by itself, later (vacuum)."""
        self._database.vacuum()

    def close(self) -> None:
        """Seal the unsealed logs if there is a key, and close the database."""
        if self._sealer is not None:
            try:
                self._sealer.seal(self._rows_of(self._list_unsealed())).report()
            except StoreError:
                logger.warning(
                    "the newest entries of the logs were not sealed at shutdown; correct the error that follows, then run `headgate log seal`",
                    exc_info=True,
                )
        self._database.close()

    def _rows_of(self, roots: Iterable[ResourceId]) -> dict[ResourceId, ReadRows]:
        return {root: self.log(root).rows for root in roots}

    def _list_unsealed(self) -> list[ResourceId]:
        newest = select(seals.c.log_id, func.max(seals.c.revision).label("revision")).group_by(seals.c.log_id)
        sealed = {row.log_id: row.revision for row in self._database.rows(newest)}
        return [root for root, head in self.heads(self.logs()).items() if head.revision != sealed.get(root)]


def _head_of(text: str) -> Head:
    revision, _, hash = text.partition(":")
    return Head(int(revision), hash)


def _backend(where: str | Path) -> DatabaseBackend:
    if where == MEMORY:
        return sqlite.in_memory()
    if isinstance(where, str) and "://" in where:
        from headgate.store import postgresql  # noqa: PLC0415 - the driver takes a third of a second to load

        return postgresql.open_postgresql(where)
    return sqlite.in_folder(Path(where))
