"""A request that is sent again because its answer was lost: it has its effect once, and gets the same answer.

A commit is known by the key that its client gave it, which is kept with the pointer in one transaction; and without
one by what it would do: snapshots that are there already, or the very step that the last commit was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.ids import ResourceId
from headgate.lake.errors import InvalidMetadataError

KIND = "table"
"""The kind of document that keeps the last keys of a table or view; it goes with the resource."""
KEPT = 32
"""So many keys are kept of each."""

_WHEN = ("last_updated_ms", "metadata_log", "snapshot_log")
"""Fields that say when something was done, and so differ where the same is done twice."""


@dataclass(frozen=True, slots=True)
class CommitIdempotency:
    """What a client's key stands for: digests of who sent the key, and of the request that came with it."""

    key: str
    request: str


def was_applied(store: Store, id: ResourceId, once: CommitIdempotency | None) -> bool:
    """Return whether this commit to a table or view has happened. Raises `InvalidMetadataError` for a key of another request."""
    if once is None:
        return False
    request = _read_requests(store, id).get(once.key)
    if request not in (None, once.request):
        raise InvalidMetadataError("this `Idempotency-Key` was used for another request; use a new one")
    return request is not None


def record(store: Store, id: ResourceId, once: CommitIdempotency | None) -> tuple[DocumentPut, ...]:
    """Return what is written together with the commit, so that the next `answered` knows of it."""
    if once is None:
        return ()
    kept = {**_read_requests(store, id), once.key: once.request}
    return (DocumentPut(KIND, id, {"answered": list(kept.items())[-KEPT:]}),)


def contains_snapshots(base: TableMetadata, updates: Sequence[TableUpdate]) -> bool:
    """Return whether a commit adds snapshots, and the table has every one of them, to the last field."""
    added = [update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate)]
    known = {each.snapshot_id: each for each in base.snapshots} if added else {}
    return bool(added) and all(known.get(each.snapshot_id) == each for each in added)


def is_same_result(one: TableMetadata, other: TableMetadata) -> bool:
    """Return whether two results of commits on the same metadata are the same but for the time."""
    fields = (type(one).model_fields.keys() | type(other).model_fields.keys()) - set(_WHEN)
    return all(getattr(one, name, None) == getattr(other, name, None) for name in fields)


def _read_requests(store: Store, id: ResourceId) -> Mapping[str, Any]:
    return dict((store.document(KIND, id) or {}).get("answered", ()))
