"""An attacker who writes to a store's database directly, without the server."""

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg

from headgate.store import FILE, hash_chain
from headgate.store.log_rows import hash_of
from headgate.store.tables import log_table


def run(where: str | Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on the database of a data folder or a URL; return the result of the last one."""
    if isinstance(where, str):
        with psycopg.connect(where) as connection:
            cursors = [connection.execute(statement.encode()) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []
    with closing(sqlite3.connect(where / FILE)) as file, file:
        return [file.execute(statement) for statement in statements][-1].fetchall()


def rehash(where: str | Path, root: str) -> None:
    """Recompute the hashes of all entries of a log, as an attacker does who knows how the hash chain is computed."""
    columns = [column.name for column in log_table.columns]
    previous = hash_chain.GENESIS
    for values in run(where, f"SELECT {', '.join(columns)} FROM log WHERE log_id = '{root}' ORDER BY revision"):
        row: Any = SimpleNamespace(**dict(zip(columns, values, strict=True)) | {"previous_hash": previous})
        hash = hash_of(row) or ""
        run(
            where,
            f"UPDATE log SET previous_hash = '{previous}', hash = '{hash}' "
            f"WHERE log_id = '{root}' AND revision = {row.revision}",
        )
        previous = hash
