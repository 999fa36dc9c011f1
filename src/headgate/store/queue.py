"""Runs as rows: the queue that workers share, and the log lines of runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, tuple_, update

from headgate.control.kernel.ports import RunConflictError
from headgate.control.kernel.run_queue import RUNNING, RunFilter, RunLogLine, RunRow, RunUpdate
from headgate.facts.ids import ResourceId, RunId
from headgate.store.database import Database, escape_unstorable, is_storable_text
from headgate.store.tables import run_lines, runs

_COLUMNS = tuple(field.name for field in fields(RunRow))
_SAME = ("state", "attempt", "worker")
"""The columns that are compared for optimistic concurrency: if one differs, another process has written the run."""


class Queue:
    """The runs of one log. Every write is one transaction."""

    def __init__(self, database: Database, root: ResourceId) -> None:
        self._database = database
        self._root = root

    def run(self, run: RunId) -> RunRow | None:
        """Return one run, or None."""
        if not is_storable_text(run):
            return None
        found = self._database.rows(select(runs).where(runs.c.log_id == self._root, runs.c.run == run))
        return _run(found[0]) if found else None

    def runs(self, wanted: RunFilter, limit: int) -> Sequence[RunRow]:
        """Return at most `limit` runs that match the filter."""
        query = select(runs).where(runs.c.log_id == self._root, *_conditions(wanted))
        found = _ordered(query, wanted) if wanted.of_each is None else _first_of_each(query, wanted.of_each)
        return [_run(row) for row in self._database.rows(found.limit(limit))]

    def count(self, wanted: RunFilter) -> int:
        """Return the number of runs that match the filter."""
        query = select(func.count()).select_from(runs).where(runs.c.log_id == self._root, *_conditions(wanted))
        return int(self._database.rows(query)[0][0])

    def put(self, connection: Connection, put: RunUpdate) -> None:
        """Write a run within a transaction. Raises `RunConflictError` if the stored one is not as expected."""
        row = {name: escape_unstorable(getattr(put.row, name)) for name in _COLUMNS}
        values = {**row, "log_id": self._root, "figures": _figures(put.row.figures)}
        if put.expected is None:
            written = self._database.insert_new(connection, runs, values)
        else:
            same = [runs.c[name] == getattr(put.expected, name) for name in _SAME]
            statement = update(runs).where(*self._key(put.row.run), *same).values(values)
            written = connection.execute(statement).rowcount == 1
        if not written:
            raise RunConflictError(f"another process changed the run `{put.row.run}`; read the run again and retry")

    def renew(self, run: RunId, worker: str, attempt: int, lease: float, figures: Mapping[str, Any] | None) -> bool:
        """Extend the lease of an attempt if this worker still holds it; return whether it does."""
        mine = (runs.c.state == RUNNING, runs.c.worker == worker, runs.c.attempt == attempt)
        values = {"lease": lease} if figures is None else {"lease": lease, "figures": _figures(figures)}
        with self._database.transaction() as connection:
            return connection.execute(update(runs).where(*self._key(run), *mine).values(values)).rowcount == 1

    def append_log_lines(self, run: RunId, at: float, texts: Sequence[str]) -> None:
        """Add lines to a run's log."""
        with self._database.transaction() as connection:
            for text in texts:
                values = {"log_id": self._root, "run": run, "at": at, "text": escape_unstorable(text)}
                # Another process may add a line with the same number at the same time: then the next number is tried.
                while not self._database.insert_new(
                    connection, run_lines, {**values, "number": self._next(connection, run)}
                ):
                    pass

    def log_lines(self, run: RunId, after: int, limit: int) -> Sequence[RunLogLine]:
        """Return at most `limit` lines of a run's log with a number above `after`, in order."""
        if not is_storable_text(run):
            return ()
        key = (run_lines.c.log_id == self._root, run_lines.c.run == run, run_lines.c.number > after)
        query = select(run_lines).where(*key).order_by(run_lines.c.number).limit(limit)
        return [RunLogLine(row.number, row.at, row.text) for row in self._database.rows(query)]

    def _next(self, connection: Connection, run: RunId) -> int:
        last = select(func.max(run_lines.c.number)).where(run_lines.c.log_id == self._root, run_lines.c.run == run)
        return (connection.execute(last).scalar() or 0) + 1

    def _key(self, run: RunId) -> tuple[ColumnElement[bool], ...]:
        return (runs.c.log_id == self._root, runs.c.run == run)


_ASKED: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "pipeline": lambda pipeline: runs.c.pipeline == pipeline,
    "states": runs.c.state.in_,
    "due_before": lambda at: runs.c.due <= at,
    "lease_before": lambda at: runs.c.lease < at,
    "since": lambda at: runs.c.queued >= at,
    "before": lambda last: tuple_(runs.c.queued, runs.c.run) < tuple_(*last),
}
"""The condition on a row for each field of a filter."""


def _conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    given = {name: getattr(wanted, name) for name in _ASKED}
    return [_ASKED[name](value) for name, value in given.items() if value is not None]


def _ordered(query: Select[Any], wanted: RunFilter) -> Select[Any]:
    if wanted.due_before is not None:
        return query.order_by(runs.c.due, runs.c.run)
    if wanted.lease_before is not None:
        return query.order_by(runs.c.lease, runs.c.run)
    return query.order_by(runs.c.queued.desc(), runs.c.run.desc())


def _first_of_each(query: Select[Any], count: int) -> Select[Any]:
    """Return the query for the first `count` runs of each pipeline, in the order in which they were due."""
    place = func.row_number().over(partition_by=runs.c.pipeline, order_by=(runs.c.due, runs.c.run)).label("place")
    numbered = query.add_columns(place).subquery()
    return select(numbered).where(numbered.c.place <= count).order_by(numbered.c.due, numbered.c.run)


def _run(row: Row[Any]) -> RunRow:
    said = {name: getattr(row, name) for name in _COLUMNS}
    return RunRow(**{**said, "figures": json.loads(row.figures)})


def _figures(figures: Mapping[str, Any]) -> str:
    return json.dumps(dict(figures), sort_keys=True, separators=(",", ":"), allow_nan=False)
