"""Idempotent commits of runs: a note in the transaction that moves the table's pointer, so that no attempt commits twice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headgate.control.control import Control
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.ids import ResourceId, RunId

KIND = "run_commit"
"""The kind of document with the figures that one run has added to one table so far."""

FIGURES = ("snapshots", "rows", "bytes")
"""The figures over all commits of a run to a table: snapshots, and the rows and bytes of the added files."""


def commit_note(
    store: Store, run: RunId, table: ResourceId, added: Mapping[str, int], columns: Mapping[str, str]
) -> DocumentPut:
    """Return the document to write with a commit that adds rows: the figures of this and the earlier commits of the run.

    `columns` are the table's columns after the commit, with their types.
    """
    before = committed_figures(store, run, table) or {}
    figures = {each: before.get(each, 0) + added.get(each, 0) for each in FIGURES}
    return DocumentPut(KIND, _id(run, table), {**figures, "columns": list(columns.items())})


def committed_figures(store: Store, run: RunId, table: ResourceId) -> Mapping[str, Any] | None:
    """Return the figures of what a run has committed to a table, and its `columns`; None if it has committed nothing."""
    return store.document(KIND, _id(run, table))


def committed_among(store: Store, run: RunId, tables: Iterable[ResourceId]) -> Mapping[ResourceId, Mapping[str, Any]]:
    """Return the figures of those of these tables to which the run has committed."""
    wanted = {_id(run, table): table for table in tables}
    return {wanted[id]: body for id, body in store.documents(KIND, tuple(wanted)).items()}


def has_committed(control: Control, store: Store, run: RunId, names: Sequence[str]) -> bool:
    """Return whether any attempt of a run has committed rows to the table of this full name.

    Another process may have created the table, so the log is read first.
    """
    control.catch_up()
    there = control.snapshot.find(names)
    return there is not None and committed_figures(store, run, there.id) is not None


def _id(run: RunId, table: ResourceId) -> str:
    return f"{run} {table}"
