"""Export of one organization as a file: its log with the hashes, documents, pointers, runs and the sources of its models.

The file has one JSON object per line. The first line names the format; the last one has the number of lines before it and
their SHA-256, so that a truncated or altered file is refused. The file contains no data files of the lake: a pointer names
the location of a table's metadata.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, select, tuple_

from headgate.control.kernel.ports import StoreError
from headgate.facts.changes import Change
from headgate.facts.ids import ResourceId
from headgate.store import hash_chain
from headgate.store.database import Database
from headgate.store.log_rows import entry_of
from headgate.store.tables import documents, log_table, pointers, run_lines, runs

FORMAT, VERSION = "headgate organization", 2

READS = (1, VERSION)
"""The versions of the format that can be imported. Version 1 had no runs."""

MODEL = "model"
"""The kind of the documents that hold the source of a model, in any log; the id is the hash of the source."""

PARSED = ("changes", "origin", "grounds", "body", "figures")
"""Columns whose text is JSON. The file has the parsed JSON instead of the text."""

DERIVED = ("log_id", "place")
"""Columns that the file omits: an import derives them from its first line and from other columns."""

_PAGE = 500


def export_log(database: Database, root: ResourceId) -> Iterator[str]:
    """Yield the lines of the export of a log, as it is now. Raises `StoreError` if the log does not exist."""
    digest, count = hashlib.sha256(), 0
    for line in _lines(database, root):
        digest.update(line.encode() + b"\n")
        count += 1
        yield line
    yield hash_chain.canonical_json({"end": {"lines": count, "sha256": digest.hexdigest()}})


def model_hashes(change: Change) -> tuple[str, ...]:
    """Return the hash of the model that a change puts into force; empty for any other change."""
    hash = getattr(change, "model_hash", None)
    return () if hash is None else (hash,)


def _lines(database: Database, root: ResourceId) -> Iterator[str]:
    with database.snapshot_transaction() as connection:
        hashes: set[str] = set()
        for count, row in enumerate(_rows(connection, log_table, root, "revision")):
            if count == 0:
                yield hash_chain.canonical_json({"format": FORMAT, "version": VERSION, "organization": root})
            hashes.update(hash for change in entry_of(row).changes for hash in model_hashes(change))
            yield _line("entry", row)
        if not hashes:
            raise StoreError(
                f"there is no organization `{root}`; name an organization by its id (`headgate organization list` lists them)"
            )
        for row in _rows(connection, documents, root, "kind", "id"):
            yield _line("document", row)
        for row in _rows(connection, pointers, root, "table_id"):
            yield _line("pointer", row)
        for row in _rows(connection, runs, root, "run"):
            yield _line("run", row)
        for row in _rows(connection, run_lines, root, "run", "number"):
            yield _line("run_line", row)
        query = select(documents).where(
            documents.c.kind == MODEL, documents.c.id.in_(hashes), documents.c.log_id != root
        )
        for row in {row.id: row for row in connection.execute(query)}.values():
            yield _line("document", row)


def _rows(connection: Connection, table: Table, root: ResourceId, *key: str) -> Iterator[Row[Any]]:
    """Yield the rows of a log in the order of their key, read in pages."""
    columns = [table.c[name] for name in key]
    query: Select[Any] = select(table).where(table.c.log_id == root).order_by(*columns).limit(_PAGE)
    page = connection.execute(query).all()
    while page:
        yield from page
        last = [page[-1]._mapping[name] for name in key]  # noqa: SLF001 - `_mapping` is public API
        page = connection.execute(query.where(tuple_(*columns) > tuple_(*last))).all()


def _line(name: str, row: Row[Any]) -> str:
    said = {column: value for column, value in row._mapping.items() if column not in DERIVED}  # noqa: SLF001
    parsed = {column: json.loads(said[column]) for column in PARSED if said.get(column) is not None}
    # ASCII only, because a document may hold text that cannot be encoded as UTF-8.
    return json.dumps({name: said | parsed}, sort_keys=True, separators=(",", ":"), allow_nan=False)
