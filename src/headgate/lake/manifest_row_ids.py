"""Row ids in the manifests of a snapshot: existing rows keep theirs, and new rows get ids that no other row has.

A manifest list names the first row id of each data manifest. A live data file without a row id of its own inherits the next
one of its manifest. Row ids inside a data file are not checked: every engine that rewrites rows writes them there.

Sources: "Row Lineage" and "First Row ID Assignment" of the Iceberg specification, and `ManifestListWriter` and `ManifestReader` of
Apache Iceberg.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifests import ListedFile, TableFiles
from headgate.lake.table_documents import ROW_LINEAGE
from headgate.untrusted_input.manifest_answers import ManifestAnswer

Manifests = Mapping[str, ManifestAnswer]


def check_row_ids(files: TableFiles, snapshot: Snapshot, parent: Snapshot | None, version: int) -> None:
    """Raise `InvalidMetadataError` for row ids that a new snapshot of a table of this format version must not have.

    A manifest of the parent keeps its first row id. All other data manifests get consecutive ranges of the snapshot's own
    row ids, in the order of the list; so do the parent's manifests without ids, from before the upgrade to version 3.
    """
    before = files.manifests(parent) if parent else {}
    after = files.manifests(snapshot)
    past = _PastRowIds(files, before, after)
    for manifest, found in files.files_by_manifest(each for path, each in after.items() if path not in before):
        _check_files(manifest, found, past)
    if version < ROW_LINEAGE:
        _require_none(after.values(), f"tables of format version {version} have no row ids")
    else:
        _require_none((each for each in after.values() if not each.is_data), "only data manifests have row ids")
        _check_ranges(files, snapshot, before, after)


def check_stored_row_ids(files: TableFiles, snapshots: Iterable[Snapshot], next_row_id: int | None) -> None:
    """Raise `InvalidMetadataError` unless all row ids of existing snapshots are below the table's next one, which may be None.

    Lists that early versions of Iceberg's library wrote have manifests without row ids; the next commit assigns them.
    """
    manifests = dict.fromkeys(each for snapshot in snapshots for each in files.manifests(snapshot).values())
    if next_row_id is None:
        _require_none(manifests, "tables of format version 2 have no row ids")
    _require_none((each for each in manifests if not each.is_data), "only data manifests have row ids")
    for manifest, found in files.files_by_manifest(manifests):
        for file, first in _row_ids(manifest, found):
            if first is None and file.first_row_id is not None:
                raise _wrong_file(manifest, "has a `first_row_id`, but the manifest list names none of the manifest")
            if first is not None and not 0 <= first <= (next_row_id or 0) - file.records:
                raise _wrong_file(manifest, "has row ids below 0, or from the table's `next-row-id` on")


class _PastRowIds:
    """The row ids of the parent's files whose manifests the new snapshot has replaced."""

    def __init__(self, files: TableFiles, before: Manifests, after: Manifests) -> None:
        self._files = files
        self._replaced = [each for path, each in before.items() if path not in after and each.first_row_id is not None]

    def of(self, path: str) -> AbstractSet[int]:
        """Return the first row ids of a data file: one, if the parent names the file once."""
        return self._by_path.get(path, frozenset())

    @cached_property
    def _by_path(self) -> Mapping[str, AbstractSet[int]]:
        found = defaultdict[str, set[int]](set)
        for manifest, files in self._files.files_by_manifest(self._replaced):
            for file, first in _row_ids(manifest, files):
                if first is not None and not file.is_deleted:
                    found[file.path].add(first)
        return found


def _row_ids(manifest: ManifestAnswer, files: Iterable[ListedFile]) -> Iterator[tuple[ListedFile, int | None]]:
    """Yield each data file with its first row id, as Iceberg's readers assign it; None without one."""
    following = manifest.first_row_id
    for file in files:
        if not file.is_data or following is None:
            yield file, None
        elif file.first_row_id is not None or file.is_deleted:
            yield file, file.first_row_id
        else:
            yield file, following
            following += file.records


def _check_files(manifest: ManifestAnswer, files: Iterable[ListedFile], past: _PastRowIds) -> None:
    """Check the files of a manifest that the parent does not have."""
    rows = 0
    for file in files:
        if file.is_data is not manifest.is_data:
            raise _wrong_file(manifest, "is a data file in a delete manifest, or a delete file in a data manifest")
        if file.first_row_id is not None and (file.is_added or file.first_row_id not in past.of(file.path)):
            raise _wrong_file(
                manifest, "has a `first_row_id` that it does not have in the parent snapshot, which only readers assign"
            )
        rows += 0 if file.is_deleted else file.records
    if manifest.is_data and manifest.rows not in (None, rows):
        raise InvalidMetadataError(
            f"the manifest list states another number of rows than the manifest `{_name(manifest)}` has; write the sums of its "
            "files' `record_count` as `added_rows_count` and `existing_rows_count`"
        )


def _check_ranges(files: TableFiles, snapshot: Snapshot, before: Manifests, after: Manifests) -> None:
    """Check the first row ids of the data manifests: those of the parent stay, and the others are in the snapshot's range."""
    following = snapshot.first_row_id or 0
    end = following + (snapshot.added_rows or 0)
    for path, manifest in after.items():
        was = before.get(path)
        if not manifest.is_data:
            continue
        if manifest.first_row_id is None:
            raise _wrong_manifest(manifest, "has no `first_row_id` in the manifest list; assign it the next row ids")
        if was is not None and was.first_row_id is not None:
            if manifest.first_row_id != was.first_row_id:
                raise _wrong_manifest(manifest, "has another `first_row_id` than in the parent snapshot; keep that one")
            continue
        if manifest.first_row_id < following:
            raise _wrong_manifest(
                manifest,
                "has the row ids of other rows; assign it a `first_row_id` after those of the manifests before it, from the "
                "snapshot's `first-row-id` on",
            )
        following = manifest.first_row_id + _count_assigned(files, manifest, was)
    if following > end:
        raise InvalidMetadataError(
            f"the manifests of the new snapshot {snapshot.snapshot_id} assign row ids beyond its `added-rows`; let `added-rows` "
            "be the number of row ids that the manifest list assigns"
        )


def _count_assigned(files: TableFiles, manifest: ManifestAnswer, was: ManifestAnswer | None) -> int:
    """Return the number of rows that inherit row ids from the manifest, which had none in the parent snapshot.

    The parent's own manifests are not read: the first commit after an upgrade names all of them.
    """
    if was is not None and was.rows is not None and was.rows >= 0:
        return was.rows
    inheriting = (each for each in files.files((manifest,)) if not each.is_deleted and each.first_row_id is None)
    return sum(each.records for each in inheriting)


def _require_none(manifests: Iterable[ManifestAnswer], reason: str) -> None:
    for each in manifests:
        if each.first_row_id is not None:
            raise InvalidMetadataError(
                f"the manifest list names a `first_row_id` of the manifest `{_name(each)}`, but {reason}; leave it out"
            )


def _wrong_manifest(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(f"the manifest `{_name(manifest)}` {fault}")


def _wrong_file(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(
        f"a file of the manifest `{_name(manifest)}` {fault}; write the manifest again with an Iceberg library"
    )


def _name(manifest: ManifestAnswer) -> str:
    return manifest.path.rpartition("/")[2]
