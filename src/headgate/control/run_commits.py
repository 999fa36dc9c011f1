"""What a run has committed: noted in the transaction that moves the table's pointer, so that no attempt does it twice."""

from collections.abc import Mapping
from typing import Any

from headgate.control.ports import DocumentPut, Store
from headgate.facts.ids import ResourceId, RunId

KIND = "run_commit"
"""The kind of document that says what one run has added to one table so far."""

FIGURES = ("snapshots", "rows", "bytes")
"""What is counted over all commits of a run to a table: snapshots, and the rows and bytes of the files they added."""


def noted(store: Store, run: RunId, table: ResourceId, added: Mapping[str, int]) -> DocumentPut:
    """Return what is written together with a commit that adds rows, after those that the run has made there before."""
    before = found(store, run, table) or {}
    return DocumentPut(KIND, _id(run, table), {each: before.get(each, 0) + added.get(each, 0) for each in FIGURES})


def found(store: Store, run: RunId, table: ResourceId) -> Mapping[str, Any] | None:
    """Return the figures of what a run has committed to a table; None if it has committed nothing there."""
    return store.document(KIND, _id(run, table))


def _id(run: RunId, table: ResourceId) -> str:
    return f"{run} {table}"
