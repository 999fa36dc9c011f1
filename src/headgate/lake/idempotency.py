"""Idempotent commits: a retried request is applied once and gets the original response.

A retried commit is recognized by the client's `Idempotency-Key`, which is stored with the pointer in one transaction.
Without a key it is recognized by its effect: its snapshots exist already, or it equals the last commit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.ids import ResourceId
from headgate.lake.table_updates import list_added_snapshots

KIND = "table"
"""The kind of document that stores the last keys of a table or view; it is deleted with the resource."""
KEPT = 32
"""The number of keys that are stored per table or view."""

_WHEN = ("last_updated_ms", "metadata_log", "snapshot_log")
"""Fields with times, which differ between two applications of the same commit."""


def was_applied(store: Store, id: ResourceId, once: IdempotencyKey | None) -> bool:
    """Whether the commit was applied to the table or view. Raises `ReusedKeyError` for a key of another request."""
    return once is not None and once.is_stored(_read_requests(store, id).get(once.key))


def record(store: Store, id: ResourceId, once: IdempotencyKey | None) -> tuple[DocumentPut, ...]:
    """Return the document to write with the commit, so that `was_applied` recognizes a retry."""
    if once is None:
        return ()
    kept = {**_read_requests(store, id), once.key: once.request}
    return (DocumentPut(KIND, id, {"answered": list(kept.items())[-KEPT:]}),)


def contains_snapshots(base: TableMetadata, updates: Sequence[TableUpdate]) -> bool:
    """Whether a commit adds snapshots, and the table already has all of them, equal in every field."""
    added = list_added_snapshots(updates)
    known = {each.snapshot_id: each for each in base.snapshots} if added else {}
    return bool(added) and all(known.get(each.snapshot_id) == each for each in added)


def is_same_result(one: TableMetadata, other: TableMetadata) -> bool:
    """Whether two results of commits on the same metadata are equal except for times."""
    fields = (type(one).model_fields.keys() | type(other).model_fields.keys()) - set(_WHEN)
    return all(getattr(one, name, None) == getattr(other, name, None) for name in fields)


def _read_requests(store: Store, id: ResourceId) -> Mapping[str, Any]:
    return dict((store.document(KIND, id) or {}).get("answered", ()))
