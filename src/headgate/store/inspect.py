"""Read-only inspection of a store: its schema, the hash chain at the end of each log, its seals and its run queue."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, Row, func, inspect, or_, select
from sqlalchemy.exc import SQLAlchemyError

from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.run_queue import QUEUED, RUNNING
from headgate.facts.changes import GovernedBy, HomeModelChanged, ModelUpgraded, OrganizationCreated
from headgate.facts.ids import ResourceId
from headgate.store import sqlite
from headgate.store.log_rows import entry_of
from headgate.store.rollback_protection import HighWaterMarks, require_not_rolled_back
from headgate.store.schema import NEWEST_SCHEMA, version_table
from headgate.store.seal_keys import KnownKeys
from headgate.store.seals import list_all_seals
from headgate.store.tables import log_table, meta, runs
from headgate.store.verification import require_known, require_next

LAST = 200
"""The number of newest entries of each log that are checked."""


_CHANGING = (HomeModelChanged, ModelUpgraded, GovernedBy)
"""The changes after the first entry that set the version of a model."""


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of a log: its newest revision and the time of that, and the name and hash of its home model."""

    log: ResourceId
    head: int
    at: float
    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The result of an inspection. `schema` is None for an empty store; logs of an older schema are not read."""

    schema: str | None
    newest: str = NEWEST_SCHEMA
    tails: Sequence[LogTail] = field(default_factory=tuple[LogTail, ...])
    due: float | None = None
    """The earliest due time of a queued run."""
    lease: float | None = None
    """The earliest end of the lease of a run under way: until then its worker counts as alive."""
    sealed: int = 0
    """The number of seals."""
    unproved: str | None = None
    """Why a seal is invalid, or which log was rolled back behind its high-water mark; None if neither."""


def inspect_store(where: str | Path, key: Path | None = None) -> StoreStatus:
    """Inspect the store of a data folder or a `postgresql://` URL; compare its seals with the keys and marks beside `key`.

    Raises `StoreError` if the store cannot be read, or the hash chain at the end of a log is broken.
    """
    if isinstance(where, Path) and not (where / sqlite.FILE).exists():
        return StoreStatus(None)
    engine = _engine(where)
    try:
        with engine.connect() as connection, connection.begin():
            schema = _schema(connection)
            if schema != NEWEST_SCHEMA:
                return StoreStatus(schema)
            due, lease = _earliest(connection, runs.c.due, QUEUED), _earliest(connection, runs.c.lease, RUNNING)
            found = StoreStatus(schema, tails=_tails(connection), due=due, lease=lease)
            return found if key is None else _check_seals(connection, found, key)
    except SQLAlchemyError as error:
        raise StoreError(
            f"the store cannot be read ({str(error).splitlines()[0]}); check the database, its file and its permissions"
        ) from error
    finally:
        engine.dispose()


def _engine(where: str | Path) -> Engine:
    if isinstance(where, Path):
        return sqlite.in_folder(where).engine
    from headgate.store import postgresql  # noqa: PLC0415 - the driver takes a third of a second to load

    return postgresql.open_postgresql(where).engine


def _schema(connection: Connection) -> str | None:
    names = inspect(connection).get_table_names()
    if version_table.name in names:
        return connection.execute(select(version_table.c.version_num)).scalar()
    if meta.name in names:
        return f"of version {connection.execute(select(meta.c.schema_version)).scalar()}"
    return "unknown" if names else None


def _earliest(connection: Connection, column: Column[Any], state: str) -> float | None:
    found: float | None = connection.execute(select(func.min(column)).where(runs.c.state == state)).scalar()
    return found


def _check_seals(connection: Connection, found: StoreStatus, key: Path) -> StoreStatus:
    sealed = list_all_seals(connection)
    try:
        known = KnownKeys.read_beside(key)
        for seal in sealed:
            require_known(seal, known)
        for root, mark in HighWaterMarks.locate_beside(key).read().items():
            newest = max((seal.revision for seal in sealed if seal.log == root), default=0)
            require_not_rolled_back(mark, newest, partial(_hash, connection, root))
    except StoreError as error:
        return replace(found, sealed=len(sealed), unproved=str(error))
    return replace(found, sealed=len(sealed))


def _hash(connection: Connection, root: ResourceId, revision: int) -> str | None:
    query = select(log_table.c.hash).where(log_table.c.log_id == root, log_table.c.revision == revision)
    found: str | None = connection.execute(query).scalar()
    return found


def _tails(connection: Connection) -> Sequence[LogTail]:
    begun = connection.execute(select(log_table).where(log_table.c.revision == 1).order_by(log_table.c.log_id)).all()
    return tuple(_tail(connection, first) for first in begun)


def _tail(connection: Connection, first: Row[Any]) -> LogTail:
    query = (
        select(log_table).where(log_table.c.log_id == first.log_id).order_by(log_table.c.revision.desc()).limit(LAST)
    )
    rows = connection.execute(query).all()
    for newer, older in zip(rows, [*rows[1:], None], strict=True):
        follows = (newer.revision, newer.previous_hash) if older is None else (older.revision + 1, older.hash)
        require_next(first.log_id, newer, *follows)
    model, hash = _find_home_model(connection, first)
    return LogTail(ResourceId(first.log_id), rows[0].revision, float(rows[0].at), model, hash)


def _find_home_model(connection: Connection, first: Row[Any]) -> tuple[str, str]:
    """Return the name and the hash of the home model: that of the first entry, as later entries changed it."""
    named = [log_table.c.changes.like(f'%"{kind.__name__}"%') for kind in _CHANGING]
    query = select(log_table).where(log_table.c.log_id == first.log_id, or_(*named)).order_by(log_table.c.revision)
    model = hash = ""
    for change in (change for row in (first, *connection.execute(query)) for change in entry_of(row).changes):
        match change:
            case OrganizationCreated() | HomeModelChanged():
                model, hash = change.model, change.model_hash
            case ModelUpgraded() | GovernedBy() if change.model == model:
                hash = change.model_hash
            case _:
                pass
    return model, hash
