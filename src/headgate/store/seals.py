"""Seals: signed statements of the hash of a log at a revision, which reveal a truncated or rewritten tail."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from sqlalchemy import Connection, Row, bindparam, func, select

from headgate.control.kernel.ports import StoreError
from headgate.facts.ids import ResourceId
from headgate.store import hash_chain
from headgate.store.database import Database
from headgate.store.seal_keys import KnownKeys, SealKey
from headgate.store.tables import seals

ENTRIES_PER_SEAL = 1000
"""Every entry whose revision is a multiple of this number is sealed when it is written."""

_COLUMNS = [seals.c.log_id.label("log"), *(column for column in seals.c if column.name != "log_id")]
_OF_LOG = seals.alias("of_log")
_NEWEST = select(*_COLUMNS).where(
    seals.c.log_id.in_(bindparam("roots", expanding=True)),
    seals.c.revision
    == select(func.max(_OF_LOG.c.revision)).where(_OF_LOG.c.log_id == seals.c.log_id).scalar_subquery(),
)

_TYPES = {"log": str, "revision": int, "at": float, "hash": str, "key": str, "signature": str}


@dataclass(frozen=True, slots=True)
class Seal:
    """A statement, signed by the key with the fingerprint `key`, that a log has an entry of this revision, time and hash."""

    log: ResourceId
    revision: int
    at: float
    hash: str
    key: str
    signature: str = ""

    @classmethod
    def of(cls, row: Any, key: SealKey) -> Self:
        """Return the signed seal of a row of a log."""
        unsigned = cls(ResourceId(row.log_id), row.revision, float(row.at), row.hash, key.fingerprint)
        return cls(**{**asdict(unsigned), "signature": key.sign(unsigned.text)})

    @property
    def text(self) -> bytes:
        """The bytes that are signed."""
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        return hash_chain.canonical_json({"seal": said}).encode()

    def is_made_by(self, known: KnownKeys) -> bool:
        """Whether one of the known keys made the signature. The types are checked too: SQLite stores any type in a column."""
        return self.has_types and known.is_signed(self.key, self.signature, self.text)

    @property
    def has_types(self) -> bool:
        """Whether each value is of its type."""
        return {name: type(value) for name, value in asdict(self).items()} == _TYPES

    def line(self) -> str:
        """Return the seal as a line of JSON, to keep elsewhere."""
        return hash_chain.canonical_json(asdict(self))


def list_seals(database: Database, root: ResourceId) -> list[Seal]:
    """Return the stored seals of a log, the oldest first."""
    query = select(*_COLUMNS).where(seals.c.log_id == root).order_by(seals.c.revision)
    return list(map(_seal_of, database.rows(query)))


def list_all_seals(connection: Connection) -> list[Seal]:
    """Return the seals of all logs, the oldest of each first."""
    query = select(*_COLUMNS).order_by(seals.c.log_id, seals.c.revision)
    return [Seal(**row) for row in connection.execute(query).mappings()]


def newest_seals(database: Database, roots: Sequence[ResourceId], known: KnownKeys) -> dict[ResourceId, Seal]:
    """Return the newest seal by a known key of each of these logs; logs without such a seal are omitted."""
    rows = database.rows(_NEWEST, roots=list(roots))
    found = {seal.log: seal for seal in map(_seal_of, rows) if seal.is_made_by(known)}
    for root in {ResourceId(row.log) for row in rows} - found.keys():
        # No known key made the newest seal; one may have made an earlier seal.
        found.update((root, seal) for seal in list_seals(database, root) if seal.is_made_by(known))
    return found


def read_seals(lines: Sequence[str]) -> list[Seal]:
    """Return the seals of lines that `Seal.line` wrote. Raises `StoreError` for any other line."""
    return [_read(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def store_seal(database: Database, connection: Connection, seal: Seal) -> None:
    """Store a seal; storing the same seal again has no effect."""
    row = asdict(seal)
    row["log_id"] = row.pop("log")
    database.insert_new(connection, seals, row)


def _seal_of(row: Row[Any]) -> Seal:
    return Seal(**row._mapping)  # noqa: SLF001 - `_mapping` is public API


def _read(number: int, line: str) -> Seal:
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or {name: type(value) for name, value in said.items()} != _TYPES:
        raise StoreError(f"line {number} of the file is not a seal; name a file with the output of `headgate log seal`")
    return Seal(**said)
