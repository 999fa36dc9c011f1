"""Seals: signed statements that a log had this hash at this revision, so that a cut or rewritten tail shows."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from sqlalchemy import Connection, select

from headgate.control.ports import StoreError
from headgate.facts.ids import ResourceId
from headgate.store import chain
from headgate.store.database import Database
from headgate.store.keys import SealKey
from headgate.store.tables import seals

EVERY = 1000
"""Each entry whose revision is a multiple of this is sealed with it."""

_TYPES = {"log": str, "revision": int, "at": float, "hash": str, "key": str, "signature": str}


@dataclass(frozen=True, slots=True)
class Seal:
    """The log has an entry of this revision, time and hash, says the key of this fingerprint."""

    log: ResourceId
    revision: int
    at: float
    hash: str
    key: str
    signature: str = ""

    @classmethod
    def of(cls, row: Any, key: SealKey) -> Self:
        """Return the signed seal of a log's row."""
        unsigned = cls(ResourceId(row.log_id), row.revision, float(row.at), row.hash, key.fingerprint)
        return cls(**{**asdict(unsigned), "signature": key.sign(unsigned.text)})

    @property
    def text(self) -> bytes:
        """What is signed."""
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        return chain.canonical({"seal": said}).encode()

    def line(self) -> str:
        """Return the seal as a line that can be kept elsewhere."""
        return chain.canonical(asdict(self))


def kept(database: Database, root: ResourceId) -> list[Seal]:
    """Return the seals that are kept beside a log, the oldest first."""
    columns = [seals.c.log_id.label("log"), *(column for column in seals.c if column.name != "log_id")]
    query = select(*columns).where(seals.c.log_id == root).order_by(seals.c.revision)
    return [Seal(**row._mapping) for row in database.rows(query)]  # noqa: SLF001 - that is its public name


def read_seals(lines: Sequence[str]) -> list[Seal]:
    """Return the seals that `line` wrote. Raises `StoreError` for what is none."""
    return [_read(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def keep(database: Database, connection: Connection, seal: Seal) -> None:
    """Keep a seal beside the log; the same one twice is one."""
    row = asdict(seal)
    row["log_id"] = row.pop("log")
    database.insert_new(connection, seals, row)


def _read(number: int, line: str) -> Seal:
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or {name: type(value) for name, value in said.items()} != _TYPES:
        raise StoreError(f"line {number} is no seal; give a file that `headgate log seal` wrote")
    return Seal(**said)
