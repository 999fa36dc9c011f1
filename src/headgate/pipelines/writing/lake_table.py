"""Writes rows into a lake table in one commit: replaces all rows, appends, or merges by key."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql.connect.functions import expr, lit

from headgate.pipelines.sql_quoting import quote_name, quote_table

NEW = "new"
"""The alias of the written rows in conditions; the alias of the table is the last part of its name."""
MERGE_MODE = "write.merge.mode"
BESIDE = "merge-on-read"


def write_full(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Create the table from the rows, or replace all its rows."""
    writer = frame.writeTo(quote_table(into))
    if exists:
        writer.overwrite(lit(True))  # noqa: FBT003 (the condition that holds for every row)
    else:
        writer.create()


def append(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Create the table from the rows, or append them."""
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
    """Create the table from the rows, or merge them: each replaces the row of its key, or is added if its key is new.

    NULL is a key like any other value. Each key must occur once in the rows. `within` is true for every row of the table with
    one of the keys, so that other files are not read; `unless` is true for a row that must not be replaced.
    """
    if not exists:
        # Merge-on-read: later merges write changes in new files, instead of rewriting the files with the changed rows.
        frame.writeTo(quote_table(into)).tableProperty(MERGE_MODE, BESIDE).create()
        return
    same = expr(same_key(into, NEW, keys))
    merged = frame.alias(NEW).mergeInto(quote_table(into), same if within is None else same & within)
    merged.whenMatched(None if unless is None else ~unless).updateAll().whenNotMatched().insertAll().merge()


def same_key(table: str, other: str, keys: Sequence[str]) -> str:
    """Return the condition that a row of a table and a row of another relation have the same key."""
    return " AND ".join(f"{qualified_column(table, key)} <=> {quote_name(other)}.{quote_name(key)}" for key in keys)


def qualified_column(table: str, name: str) -> str:
    """Return the name of a table's column in conditions, qualified by the last part of the table's name."""
    return f"{quote_name(table.rsplit('.', maxsplit=1)[-1])}.{quote_name(name)}"


def duplicate_key(frame: DataFrame, keys: Sequence[str]) -> str:
    """Return, for a message, a key that several rows have; empty if there is none."""
    found = frame.groupBy(*map(quote_name, keys)).count().where("count > 1").limit(1).collect()
    return ", ".join(f"`{key}` {found[0][index]!r}" for index, key in enumerate(keys)) if found else ""
