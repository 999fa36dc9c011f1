"""The store of one deployment, in one SQLite file. Implements `headgate.control.ports.Store`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.exc import IntegrityError

from headgate.control.ports import (
    DocumentPut,
    Draft,
    Entry,
    Pointer,
    PointerConflictError,
    RevisionConflictError,
    StoreError,
)
from headgate.facts.changes import Change, ResourceDeleted
from headgate.facts.encoding import FactsError, decode, encode
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.store import chain
from headgate.store.database import open_database, reading, writing
from headgate.store.tables import documents, log, pointers

FILE = "headgate.db"
_PAGE = 500


class SqliteStore:
    """The log, the documents and the pointers. Every write is one transaction that survives a crash."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Create or open the store of a data folder. Raises `StoreError` if it cannot be used."""
        return cls(open_database(folder / FILE))

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def head(self) -> int:
        """Return the newest revision; 0 for an empty log."""
        with reading(self._engine) as connection:
            return connection.execute(select(func.coalesce(func.max(log.c.revision), 0))).scalar_one()

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries above revision `after`, oldest first. Raises `StoreError` for one it cannot read."""
        for row in self._rows(after):
            actor = None if row.actor is None else PrincipalId(row.actor)
            yield Entry(row.revision, row.at, actor, row.command, _decoded(row))

    def append(self, expected: int, draft: Draft) -> int:
        """Write the draft at revision `expected` + 1 and return that revision.

        Raises `RevisionConflictError` if `expected` is not the newest, `PointerConflictError` if the draft makes
        a pointer that is there, `StoreError` if it cannot be written; then nothing is.
        """
        with writing(self._engine) as connection:
            revision, last_hash = _head(connection)
            if revision != expected:
                raise RevisionConflictError(f"the log is at revision {revision}, not {expected}")
            connection.execute(insert(log).values(_row(expected + 1, draft, last_hash)))
            for put in draft.documents:
                _put(connection, put)
            deleted = [change.resource for change in draft.changes if isinstance(change, ResourceDeleted)]
            for table in deleted:
                connection.execute(delete(pointers).where(pointers.c.table_id == table))
            for pointer in draft.pointers:
                _add_pointer(connection, pointer)
        return expected + 1

    def pointer(self, table: ResourceId) -> Pointer | None:
        """Return the table's pointer, or None."""
        query = select(pointers.c.metadata_location).where(pointers.c.table_id == table)
        with reading(self._engine) as connection:
            location = connection.execute(query).scalar_one_or_none()
        return None if location is None else Pointer(table, location)

    def swap_pointer(self, expected: Pointer, new_location: str) -> None:
        """Move the pointer of a data commit (no log entry). Raises `PointerConflictError` if it has moved."""
        statement = (
            update(pointers)
            .where(pointers.c.table_id == expected.table, pointers.c.metadata_location == expected.metadata_location)
            .values(metadata_location=new_location, previous_location=expected.metadata_location)
        )
        with writing(self._engine) as connection:
            if connection.execute(statement).rowcount != 1:
                raise PointerConflictError(f"the metadata of table `{expected.table}` has changed meanwhile")

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        return self.documents(kind, [id]).get(id)

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return documents of a kind by id, all or those named."""
        query = select(documents.c.id, documents.c.body).where(documents.c.kind == kind)
        wanted = None if ids is None else set(ids)
        if wanted is not None and len(wanted) <= _PAGE:
            query = query.where(documents.c.id.in_(wanted))
        with reading(self._engine) as connection:
            rows = connection.execute(query).all()
        return {row.id: json.loads(row.body) for row in rows if wanted is None or row.id in wanted}

    def put_document(self, put: DocumentPut) -> None:
        """Write a document outside a command (progress of a run)."""
        with writing(self._engine) as connection:
            _put(connection, put)

    def verify(self) -> None:
        """Walk the hash chain. Raises `StoreError` that names the first revision that does not hold."""
        expected, previous = 1, chain.GENESIS
        for row in self._rows(0):
            if row.revision != expected or row.previous_hash != previous or row.hash != _hash(row):
                raise StoreError(f"revision {expected} of the log was altered or lost; restore a copy from before it")
            expected, previous = expected + 1, row.hash

    def _rows(self, after: int) -> Iterator[Row[Any]]:
        # In pages, so that a slow reader holds no transaction open.
        while True:
            query = select(log).where(log.c.revision > after).order_by(log.c.revision).limit(_PAGE)
            with reading(self._engine) as connection:
                page = connection.execute(query).all()
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].revision


def _head(connection: Connection) -> tuple[int, str]:
    row = connection.execute(select(log.c.revision, log.c.hash).order_by(log.c.revision.desc()).limit(1)).first()
    return (0, chain.GENESIS) if row is None else (row.revision, row.hash)


def _row(revision: int, draft: Draft, previous_hash: str) -> dict[str, Any]:
    changes = [encode(change) for change in draft.changes]
    at = float(draft.at)
    digest = chain.entry_hash(
        revision=revision,
        at=at,
        actor=draft.actor,
        command=draft.command,
        changes=changes,
        previous_hash=previous_hash,
    )
    return {
        "revision": revision,
        "at": at,
        "actor": draft.actor,
        "command": draft.command,
        "changes": chain.canonical(changes),
        "previous_hash": previous_hash,
        "hash": digest,
    }


def _decoded(row: Row[Any]) -> tuple[Change, ...]:
    try:
        return tuple(decode(change) for change in _changes(row))
    except FactsError as error:
        raise StoreError(
            f"revision {row.revision} of the log cannot be understood ({error}); start the version of Headgate that wrote it"
        ) from error


def _changes(row: Row[Any]) -> list[Any]:
    try:
        changes = json.loads(row.changes)
    except ValueError:
        changes = None
    if not isinstance(changes, list):
        raise StoreError(f"revision {row.revision} of the log cannot be read; restore a copy from before it")
    return changes


def _hash(row: Row[Any]) -> str | None:
    try:
        return chain.entry_hash(
            revision=row.revision,
            at=row.at,
            actor=row.actor,
            command=row.command,
            changes=_changes(row),
            previous_hash=row.previous_hash,
        )
    except StoreError:
        return None


def _put(connection: Connection, put: DocumentPut) -> None:
    if put.body is None:
        connection.execute(delete(documents).where(documents.c.kind == put.kind, documents.c.id == put.id))
        return
    body = chain.canonical(dict(put.body))
    statement = upsert(documents).values(kind=put.kind, id=put.id, body=body)
    connection.execute(statement.on_conflict_do_update(index_elements=["kind", "id"], set_={"body": body}))


def _add_pointer(connection: Connection, pointer: Pointer) -> None:
    values = {"table_id": pointer.table, "metadata_location": pointer.metadata_location}
    try:
        connection.execute(insert(pointers).values(values))
    except IntegrityError as error:
        raise PointerConflictError(f"table `{pointer.table}` has metadata already") from error
