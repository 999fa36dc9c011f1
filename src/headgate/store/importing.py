"""Taking in the file of an organization: all of it or nothing, and only what proves to be whole."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from headgate.control.ports import StoreError
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.store import chain
from headgate.store.database import Database
from headgate.store.exporting import FORMAT, MODEL, PARSED, READS, VERSION, model_hashes
from headgate.store.rows import entry_of, hash_of
from headgate.store.tables import documents, log, pointers, run_lines, runs

UNIQUE = ("token", "access_token", "run_secret")
"""Kinds of documents that are looked for in every log: their ids must be nobody else's."""

_TABLES = {"entry": log, "document": documents, "pointer": pointers, "run": runs, "run_line": run_lines}
_PAGE = 200


@dataclass(slots=True)
class _Taken:
    """What was read so far."""

    root: ResourceId
    facts: Snapshot = field(default_factory=Snapshot)
    previous: str = chain.GENESIS
    hashes: set[str] = field(default_factory=set[str])

    def follow(self, row: Any) -> None:
        """Take the next entry. Raises `StoreError` for one that does not follow, or that cannot be."""
        revision = self.facts.revision + 1
        if row.revision != revision or row.previous_hash != self.previous or row.hash != hash_of(row):
            raise StoreError(f"revision {revision} in the file was altered or lost; export it again")
        entry = entry_of(row)
        try:
            self.facts = fold(self.facts, entry.changes, revision)
        except KeyError as error:
            raise StoreError(
                f"revision {revision} in the file is about `{error.args[0]}`, which is not there"
            ) from error
        self.hashes.update(hash for change in entry.changes for hash in model_hashes(change))
        self.previous = row.hash


def root_of(lines: Iterable[str]) -> ResourceId:
    """Return the root of the log that a file begins to tell. Raises `StoreError` if it is no such file."""
    return _Reader(lines).root


def taken(database: Database, lines: Iterable[str]) -> Snapshot:
    """Write the log of a file and return its newest facts.

    Raises `StoreError` for a file that is not whole, for a log that is there, and for models that are not known; then
    nothing is written.
    """
    with database.writing() as connection:
        read = _Reader(lines)
        state = _Taken(read.root)
        if connection.execute(select(log.c.revision).where(log.c.log_id == read.root).limit(1)).first():
            raise StoreError(f"there is an organization `{read.root}` already")
        for name, rows in _paged(read.rows()):
            if name == "entry":
                for row in rows:
                    state.follow(SimpleNamespace(**row))
            connection.execute(insert(_TABLES[name]), rows)
        _complete(connection, state)
        database.backend.announce(connection, read.root, state.facts.revision)
    return state.facts


class _Reader:
    """The lines of a file, counted and summed. Raises `StoreError` for what does not fit."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._digest = hashlib.sha256()
        self._count = 0
        header = self._next()
        if header.get("format") != FORMAT or not isinstance(header.get("organization"), str):
            raise StoreError("this is no exported organization; give a file that `headgate organization export` wrote")
        if header.get("version") not in READS:
            raise StoreError(f"the file has version {header.get('version')}, and this Headgate reads up to {VERSION}")
        self.root = ResourceId(header["organization"])

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row with the name of what it is, until the end that the file says it has."""
        while True:
            count, digest = self._count, self._digest.hexdigest()
            line = self._next()
            [name, said] = next(iter(line.items())) if len(line) == 1 else ("", None)
            if name == "end":
                if said != {"lines": count, "sha256": digest}:
                    raise StoreError("the file was altered since it was written; export it again")
                return
            if name not in _TABLES or not isinstance(said, dict):
                raise StoreError(f"line {self._count} of the file says nothing that is known; export it again")
            yield name, self._row(name, said)

    def _row(self, name: str, said: dict[str, Any]) -> dict[str, Any]:
        row = {column: _written(column, value) for column, value in {"log_id": self.root, **said}.items()}
        if not _fits(_TABLES[name], row) or (said.get("kind") == MODEL and not _is_model(said)):
            raise StoreError(f"line {self._count} of the file says nothing that is known; export it again")
        return row

    def _next(self) -> dict[str, Any]:
        line = next(self._lines, "").rstrip("\n")
        if not line:
            raise StoreError("the file was cut; export it again")
        self._digest.update(line.encode() + b"\n")
        self._count += 1
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"line {self._count} of the file is not JSON; export it again") from error
        return said if isinstance(said, dict) else {}


def _written(column: str, value: Any) -> Any:
    if column not in PARSED or value is None:
        return value
    return chain.canonical(value) if column != "body" else json.dumps(value, sort_keys=True, separators=(",", ":"))


def _fits(table: Table, row: Mapping[str, Any]) -> bool:
    """Say whether a row has the columns of a table, each with a value of its type."""
    return row.keys() == set(table.c.keys()) and all(
        type(value) is table.c[column].type.python_type or (value is None and table.c[column].nullable)
        for column, value in row.items()
    )


def _is_model(said: Mapping[str, Any]) -> bool:
    source = said["body"].get("source") if isinstance(said["body"], dict) else None
    return isinstance(source, str) and hashlib.sha256(source.encode()).hexdigest() == said["id"]


def _paged(rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield rows of the same table together, so many at a time."""
    name, page = "", list[dict[str, Any]]()
    for each, row in rows:
        if page and (each != name or len(page) == _PAGE):
            yield name, page
            page = []
        name = each
        page.append(row)
    if page:
        yield name, page


def _complete(connection: Connection, state: _Taken) -> None:
    """Raise `StoreError` unless this log can be used as it is, and takes nothing from another one."""
    root = state.facts.resources.get(state.root)
    if root is None or state.facts.organization != state.root or root.type != "organization":
        raise StoreError(f"the file says nothing of the organization `{state.root}`; export it again")
    known = select(documents.c.id).where(documents.c.kind == MODEL, documents.c.id.in_(state.hashes))
    missing = state.hashes - set(connection.execute(known).scalars())
    if missing:
        raise StoreError(f"the file lacks the source of a model (`{min(missing)}`); export it again")
    other = documents.alias("other")
    same = (other.c.kind == documents.c.kind, other.c.id == documents.c.id, other.c.log_id != documents.c.log_id)
    query = select(documents.c.id).join(other, same[0] & same[1] & same[2])
    if connection.execute(query.where(documents.c.log_id == state.root, documents.c.kind.in_(UNIQUE)).limit(1)).first():
        raise StoreError("tokens of the file are known here as somebody else's; this organization cannot be taken in")
