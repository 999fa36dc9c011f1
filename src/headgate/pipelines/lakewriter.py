"""Writing rows into a lake table, each time in one commit: in full, beside what is there, or by key."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.connect.functions import expr, lit


def write_full(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Make the table from the rows, or replace all its rows."""
    writer = frame.writeTo(into)
    if exists:
        writer.overwrite(lit(True))  # noqa: FBT003 (the condition that holds for every row)
    else:
        writer.create()


def append(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Make the table from the rows, or add them."""
    writer = frame.writeTo(into)
    if exists:
        writer.append()
    else:
        writer.create()


def merge(frame: DataFrame, into: str, keys: Sequence[str], *, exists: bool) -> None:
    """Make the table from the rows, or let each replace the one with its key and add those whose key is new.

    A missing value is a key like any other. The rows have each key once.
    """
    if not exists:
        frame.writeTo(into).create()
        return
    merged = frame.alias("new").mergeInto(into, expr(same_key(into, "new", keys)))
    merged.whenMatched().updateAll().whenNotMatched().insertAll().merge()


def same_key(table: str, other: str, keys: Sequence[str]) -> str:
    """Return the condition that a row of a table and one of another relation have the same key."""
    last = table.rsplit(".", maxsplit=1)[-1]
    return " AND ".join(f"{quoted(last)}.{quoted(key)} <=> {quoted(other)}.{quoted(key)}" for key in keys)


def quoted(name: str) -> str:
    """Return one part of a name as SQL writes it, whatever letters it has."""
    return f"`{name.replace('`', '``')}`"


def twice(frame: DataFrame, keys: Sequence[str]) -> str:
    """Return a key that several rows have, in words; empty if there is none."""
    found = frame.groupBy(*map(quoted, keys)).count().where("count > 1").limit(1).collect()
    return ", ".join(f"`{key}` {found[0][index]!r}" for index, key in enumerate(keys)) if found else ""
