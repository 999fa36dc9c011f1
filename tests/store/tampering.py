"""Somebody who writes into a store's database behind its back."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from headgate.store import FILE


def run(where: str | Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on the database of a data folder or a URL; return what the last one finds."""
    if isinstance(where, str):
        with psycopg.connect(where) as connection:
            cursors = [connection.execute(statement.encode()) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []
    with closing(sqlite3.connect(where / FILE)) as file, file:
        return [file.execute(statement) for statement in statements][-1].fetchall()
