"""Statistics of a commit: the snapshots that it adds, and the rows and bytes of their files."""

from collections.abc import Mapping

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

_SUMMARY = {"rows": "added-records", "bytes": "added-files-size"}


def commit_stats(base: TableMetadata | None, metadata: TableMetadata) -> Mapping[str, int]:
    """Return the number of snapshots that a commit adds, and the rows and bytes that their summaries claim."""
    known = {each.snapshot_id for each in base.snapshots} if base else set[int]()
    added = [each for each in metadata.snapshots if each.snapshot_id not in known]
    said = {figure: sum(_read_count(each, key) for each in added) for figure, key in _SUMMARY.items()}
    return {"snapshots": len(added), **said}


def _read_count(snapshot: Snapshot, key: str) -> int:
    value = (snapshot.summary or {}).get(key)
    return int(value) if value is not None and str(value).isdigit() else 0
