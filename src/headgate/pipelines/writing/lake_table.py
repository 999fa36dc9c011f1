"""Writing rows into a lake table, each time in one commit: in full, beside what is there, or by key."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql.connect.functions import expr, lit

from headgate.pipelines.sql_quoting import quote_name, quote_table

NEW = "new"
"""What the rows that are written are called in conditions; the table goes by the last part of its name."""
MERGE_MODE = "write.merge.mode"
BESIDE = "merge-on-read"


def write_full(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Make the table from the rows, or replace all its rows."""
    writer = frame.writeTo(quote_table(into))
    if exists:
        writer.overwrite(lit(True))  # noqa: FBT003 (the condition that holds for every row)
    else:
        writer.create()


def append(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Make the table from the rows, or add them."""
    writer = frame.writeTo(quote_table(into))
    if exists:
        writer.append()
    else:
        writer.create()


def merge(
    frame: DataFrame,
    into: str,
    keys: Sequence[str],
    *,
    exists: bool,
    within: Column | None = None,
    unless: Column | None = None,
) -> None:
    """Make the table from the rows, or let each replace the one with its key and add those whose key is new.

    A missing value is a key like any other. The rows have each key once. `within` holds for every row of the table that
    has one of the keys, so that the rest of it is not read; `unless` for a row that is not to be replaced.
    """
    if not exists:
        # What later merges change is written beside the files that hold it, which are not written anew for it.
        frame.writeTo(quote_table(into)).tableProperty(MERGE_MODE, BESIDE).create()
        return
    same = expr(same_key(into, NEW, keys))
    merged = frame.alias(NEW).mergeInto(quote_table(into), same if within is None else same & within)
    merged.whenMatched(None if unless is None else ~unless).updateAll().whenNotMatched().insertAll().merge()


def same_key(table: str, other: str, keys: Sequence[str]) -> str:
    """Return the condition that a row of a table and one of another relation have the same key."""
    return " AND ".join(f"{qualified_column(table, key)} <=> {quote_name(other)}.{quote_name(key)}" for key in keys)


def qualified_column(table: str, name: str) -> str:
    """Return what a condition calls a column of a table, by the last part of the table's name."""
    return f"{quote_name(table.rsplit('.', maxsplit=1)[-1])}.{quote_name(name)}"


def duplicate_key(frame: DataFrame, keys: Sequence[str]) -> str:
    """Return a key that several rows have, in words; empty if there is none."""
    found = frame.groupBy(*map(quote_name, keys)).count().where("count > 1").limit(1).collect()
    return ", ".join(f"`{key}` {found[0][index]!r}" for index, key in enumerate(keys)) if found else ""
