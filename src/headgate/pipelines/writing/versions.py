"""The versions of a history: computed from the stored versions and the input, and merged in one commit."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql.connect import functions as sql
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.connect.window import Window

from headgate.pipelines.sql_quoting import quote_name
from headgate.pipelines.writing.lake_table import duplicate_key, same_key

FROM, TO, CURRENT = "valid_from", "valid_to", "is_current"
_ADDED = (FROM, TO, CURRENT)
_GONE = "headgate gone"
"""The column that marks a version to delete; no user's column has this name."""


class HistoryError(Exception):
    """The rows cannot be turned into versions."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The fields of a history's definition that determine its versions."""

    keys: Sequence[str]
    tracked: Sequence[str]
    changed_at: str | None
    close_absent: bool


def update_history(spark: SparkSession, source: str, into: str, versions: Versions, *, exists: bool) -> None:
    """Create or update the history of a table. Raises `HistoryError`."""
    made = _VersionSteps(spark.table(source), versions)
    there = spark.table(into) if exists else None
    if there is not None and (new := [each for each in made.columns if each not in there.columns]):
        raise HistoryError(
            f"the history {into} lacks columns of the input: {' and '.join(new)}; add them with ALTER TABLE, or remove them from "
            "the input"
        )
    steps = made.changes(there) if versions.changed_at else made.snapshot(there)
    if there is None:
        steps.drop(_GONE).writeTo(into).create()
        return
    merged = steps.alias("new").mergeInto(into, sql.expr(same_key(into, "new", (*versions.keys, FROM))))
    merged.whenMatched(sql.expr(f"new.{quote_name(_GONE)}")).delete()
    merged.whenMatched().updateAll().whenNotMatched().insertAll().merge()


class _VersionSteps:
    """The input of one run, and the steps that update a history: versions to add, replace or delete."""

    def __init__(self, rows: DataFrame, versions: Versions) -> None:
        self._keys = versions.keys
        self._close_absent = versions.close_absent
        self.columns = [each for each in rows.columns if each != versions.changed_at]
        self._tracked = versions.tracked or [each for each in self.columns if each not in versions.keys]
        _require_columns(rows, versions)
        since = (
            sql.col(quote_name(versions.changed_at)).cast("timestamp")
            if versions.changed_at
            else sql.current_timestamp()
        )
        self._rows = rows.select(*map(_column, self.columns), *([since.alias(FROM)] if versions.changed_at else []))
        self._rows = self._rows.distinct()

    def snapshot(self, there: DataFrame | None) -> DataFrame:
        """Return the steps for an input that is the present state of a table."""
        if several := duplicate_key(self._rows, self._keys):
            raise HistoryError(
                f"the input has more than one row for the key {several}, but a key has one version at a time; keep one row per key"
            )
        now = sql.current_timestamp()
        if there is None:
            return self._rows.select(*map(_column, self.columns), *_period(now, None), sql.lit(False).alias(_GONE))  # noqa: FBT003
        new = self._rows.select(sql.struct(*map(_column, self.columns)).alias("new"))
        old = there.where(CURRENT).select(sql.struct(*map(_column, (*self.columns, *_ADDED))).alias("old"))
        both = new.join(old, _same("new", "old", self._keys), "full")
        same = _same("new", "old", self._tracked)
        known, found = sql.expr("old IS NOT NULL"), sql.expr("new IS NOT NULL")
        ends = (known & found & ~same) | (known & ~found & sql.lit(self._close_absent))
        opens = found & (~known | ~same)
        renewed = known & found & same & ~_same("new", "old", self.columns)
        # If the clock was set back, a version must not end before its beginning.
        at = sql.greatest(now, sql.expr(f"old.{FROM}"))
        return _steps(
            both,
            sql.when(ends, self._version("old", sql.expr(f"old.{FROM}"), at)),
            sql.when(opens, self._version("new", at, None)),
            sql.when(renewed, self._version("new", sql.expr(f"old.{FROM}"), None)),
        )

    def changes(self, there: DataFrame | None) -> DataFrame:
        """Return the steps for an input whose rows have the time from which they are valid."""
        if self._rows.where(f"{FROM} IS NULL").limit(1).count():
            raise HistoryError(
                "a row of the input has no valid time in the column that `changed_at` names; correct the "
                "row, or remove it"
            )
        if several := duplicate_key(self._rows, (*self._keys, FROM)):
            raise HistoryError(
                f"the input has several rows with the same key and time, {several}; keep one row per key and time"
            )
        if there is None:
            return self._versions(self._rows).withColumn(_GONE, sql.lit(False))  # noqa: FBT003
        old = there.alias("old").join(self._rows.alias("new"), _same("old", "new", self._keys), "leftsemi")
        events = old.select(*map(_column, (*self.columns, FROM)))
        # A later row for the same key and time corrects the stored version.
        kept = events.alias("old").join(self._rows.alias("new"), _same("old", "new", (*self._keys, FROM)), "leftanti")
        wanted = self._versions(kept.unionByName(self._rows))
        return self._steps_to(wanted, old.select(*map(_column, (*self.columns, *_ADDED))))

    def _versions(self, events: DataFrame) -> DataFrame:
        """Return versions: consecutive events with equal tracked columns become one, with the newest other values."""
        in_order = Window.partitionBy(*map(_column, self._keys)).orderBy(FROM)
        what = sql.struct(*map(_column, self._tracked))
        differs = ~sql.lag(what).over(in_order).eqNullSafe(what)
        row = sql.struct(*map(_column, self.columns)).alias("row")
        numbered = events.select(row, FROM, differs.cast("int").alias("differs"))
        by_key = Window.partitionBy(*(sql.col(f"row.{quote_name(key)}") for key in self._keys)).orderBy(FROM)
        grouped = numbered.withColumn("version", sql.sum("differs").over(by_key))
        keys = [sql.col(f"row.{quote_name(key)}").alias(f"key{index}") for index, key in enumerate(self._keys)]
        versions = grouped.groupBy(*keys, "version").agg(
            sql.min(FROM).alias(FROM), sql.max_by("row", FROM).alias("row")
        )
        until = sql.lead(FROM).over(by_key)
        return versions.select("row.*", FROM, until.alias(TO), until.isNull().alias(CURRENT))

    def _steps_to(self, wanted: DataFrame, old: DataFrame) -> DataFrame:
        every = (*self.columns, *_ADDED)
        new, known = (
            each.select(sql.struct(*map(_column, every)).alias(name)) for each, name in ((wanted, "new"), (old, "old"))
        )
        both = new.join(known, _same("new", "old", (*self._keys, FROM)), "full")
        changed = both.where("NOT (new <=> old)")
        kept = sql.coalesce(sql.col("new"), sql.col("old")).alias("kept")
        return changed.select(kept, sql.expr("new IS NULL").alias(_GONE)).select("kept.*", quote_name(_GONE))

    def _version(self, of: str, since: Column, until: Column | None) -> Column:
        columns = (sql.col(f"{of}.{quote_name(each)}").alias(each) for each in self.columns)
        return sql.struct(*columns, *_period(since, until), sql.lit(False).alias(_GONE))  # noqa: FBT003


def _period(since: Column, until: Column | None) -> tuple[Column, Column, Column]:
    end = sql.lit(None).cast("timestamp") if until is None else until
    return since.alias(FROM), end.alias(TO), sql.lit(until is None).alias(CURRENT)


def _steps(frame: DataFrame, *steps: Column) -> DataFrame:
    """Return the steps that are not NULL as rows."""
    return frame.select(sql.explode(sql.array_compact(sql.array(*steps))).alias("step")).select("step.*")


def _same(one: str, other: str, columns: Sequence[str]) -> Column:
    """Return the condition that two structs or relations are equal in these columns, with NULL as an ordinary value."""
    pairs = (f"{one}.{quote_name(each)} <=> {other}.{quote_name(each)}" for each in columns)
    return sql.expr(" AND ".join(pairs) or "true")


def _column(name: str) -> Column:
    return sql.col(quote_name(name))


def _require_columns(rows: DataFrame, versions: Versions) -> None:
    named = (*versions.keys, *versions.tracked, *([versions.changed_at] if versions.changed_at else []))
    if missing := [each for each in named if each not in rows.columns]:
        raise HistoryError(
            f"the input lacks columns that the definition names: {' and '.join(missing)}; correct the definition; the "
            f"columns of the input are {', '.join(rows.columns)}"
        )
    if taken := [each for each in rows.columns if each in _ADDED and each != versions.changed_at]:
        raise HistoryError(
            f"the input has columns that a history adds by itself: {' and '.join(taken)}; rename or remove them"
        )
