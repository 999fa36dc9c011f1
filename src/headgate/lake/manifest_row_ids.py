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
from headgate.lake.manifests import ListedFile, Manifests, TableFiles, list_new_manifests
from headgate.lake.readable_schemas import find_repeated
from headgate.lake.table_documents import ROW_LINEAGE
from headgate.untrusted_input.manifest_answers import ManifestAnswer


def check_row_ids(files: TableFiles, snapshot: Snapshot, known: Manifests, version: int) -> None:
    """Raise `InvalidMetadataError` for row ids that a new snapshot of a table of this format version must not have.

    `known` has the manifests of its parent. They keep their first row ids, and an existing file of a new manifest may keep its own.
    All other files get ids of the snapshot's own range, in the order of the list; so do those of the parent from before the upgrade
    to version 3.
    """
    after = files.manifests(snapshot)
    new = list_new_manifests(after, known)
    past = _PastRowIds(files, known, after)
    for manifest, found in files.files_by_manifest(new):
        _check_files(manifest, found, past)
    _check_repeated(files, new, past)
    recounted = [each for path, each in after.items() if path in known and each.rows != known[path].rows]
    for manifest, found in files.files_by_manifest((*new, *recounted)):
        _check_rows(manifest, found)
    if version < ROW_LINEAGE:
        _require_none(after.values(), f"tables of format version {version} have no row ids")
    else:
        _require_none((each for each in after.values() if not each.is_data), "only data manifests have row ids")
        _check_manifests(known, after, _range_of(snapshot)[1])
        _check_ranges(snapshot, _assigned_ranges(files, known, after, past))


def check_stored_row_ids(files: TableFiles, snapshots: Iterable[Snapshot], next_row_id: int | None) -> None:
    """Raise `InvalidMetadataError` unless all row ids of existing snapshots are below the table's next one, which may be None.

    Lists that early versions of Iceberg's library wrote have manifests without row ids; the next commit assigns them.
    """
    manifests = dict.fromkeys(each for snapshot in snapshots for each in files.manifests(snapshot).values())
    if next_row_id is None:
        _require_none(manifests, f"tables of a format version before {ROW_LINEAGE} have no row ids")
    _require_none((each for each in manifests if not each.is_data), "only data manifests have row ids")
    for manifest, found in files.files_by_manifest(manifests):
        _check_rows(manifest, found)
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

    def has(self, file: ListedFile, first: int) -> bool:
        """Whether a file of a new manifest existed before, with this first row id."""
        return not file.is_added and first in self._by_path.get(file.path, ())

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
    for file in files:
        if file.is_data is not manifest.is_data:
            raise _wrong_file(manifest, "is a data file in a delete manifest, or a delete file in a data manifest")
        if file.first_row_id is not None and not past.has(file, file.first_row_id):
            raise _wrong_file(
                manifest, "has a `first_row_id` that it does not have in the parent snapshot, which only readers assign"
            )


def _check_rows(manifest: ManifestAnswer, files: Iterable[ListedFile]) -> None:
    """Check the number of rows in the manifest list, by which the first commit after an upgrade assigns row ids."""
    rows = sum(0 if file.is_deleted else file.records for file in files)
    if manifest.is_data and manifest.rows not in (None, rows):
        raise InvalidMetadataError(
            f"the manifest list states another number of rows than the manifest `{manifest.name}` has; write the sums of its "
            "files' `record_count` as `added_rows_count` and `existing_rows_count`"
        )


def _check_manifests(before: Manifests, after: Manifests, end: int) -> None:
    """Check that every data manifest has a first row id, those of the parent the same as there."""
    for path, manifest in after.items():
        first = manifest.first_row_id
        if manifest.is_data and first is None:
            raise _wrong_manifest(manifest, "has no `first_row_id` in the manifest list; assign it the next row ids")
        kept = before[path].first_row_id if path in before else None
        if kept is not None and first != kept:
            raise _wrong_manifest(manifest, "has another `first_row_id` than in the parent snapshot; keep that one")
        if kept is None and first is not None and not 0 <= first <= end:
            raise _wrong_manifest(
                manifest,
                "has a `first_row_id` below 0 or above the row ids of the new snapshot; assign it the next row ids",
            )


def _assigned_ranges(
    files: TableFiles, before: Manifests, after: Manifests, past: _PastRowIds
) -> Iterator[tuple[ManifestAnswer, int, int]]:
    """Yield each range of row ids that the snapshot assigns: its manifest, its first id, and its number of rows."""
    for path, manifest in after.items():
        was = before.get(path)
        if not manifest.is_data or (was is not None and was.first_row_id is not None):
            continue
        if was is not None and was.rows is not None and was.rows >= 0:
            # Not read, because the first commit after an upgrade names all manifests; it was checked when it was added.
            yield manifest, manifest.first_row_id or 0, was.rows
        else:
            for file, first in _row_ids(manifest, files.files((manifest,))):
                if first is not None and file.first_row_id is None and not past.has(file, first):
                    yield manifest, first, file.records


def _check_repeated(files: TableFiles, new: Iterable[ManifestAnswer], past: _PastRowIds) -> None:
    """Check that no two entries of the new manifests keep the row ids of one file: all its rows would occur twice."""
    found = (each for manifest, listed in files.files_by_manifest(new) for each in _row_ids(manifest, listed))
    live = ((file, first) for file, first in found if first is not None and not file.is_deleted)
    repeated = find_repeated((file.path, first) for file, first in live if past.has(file, first))
    if repeated is not None:
        raise InvalidMetadataError(
            f"the new manifests name the existing data file `{repeated[0].rpartition('/')[2]}` twice; name each file once"
        )


def _check_ranges(snapshot: Snapshot, assigned: Iterable[tuple[ManifestAnswer, int, int]]) -> None:
    """Check that the ranges are consecutive, and inside that of the snapshot."""
    following, end = _range_of(snapshot)
    for manifest, first, rows in assigned:
        if first < following:
            raise _wrong_manifest(
                manifest,
                "has the row ids of other rows; assign it a `first_row_id` after those of the manifests before it, from the "
                "snapshot's `first-row-id` on",
            )
        following = first + rows
    if following > end:
        raise InvalidMetadataError(
            f"the manifests of the new snapshot {snapshot.snapshot_id} assign row ids beyond its `added-rows`; let `added-rows` "
            "be the number of row ids that the manifest list assigns"
        )


def _range_of(snapshot: Snapshot) -> tuple[int, int]:
    """Return the first row id that a new snapshot assigns, and the one after its last."""
    first = snapshot.first_row_id or 0
    return first, first + (snapshot.added_rows or 0)


def _require_none(manifests: Iterable[ManifestAnswer], reason: str) -> None:
    for each in manifests:
        if each.first_row_id is not None:
            raise InvalidMetadataError(
                f"the manifest list names a `first_row_id` of the manifest `{each.name}`, but {reason}; leave it out"
            )


def _wrong_manifest(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(f"the manifest `{manifest.name}` {fault}")


def _wrong_file(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(
        f"a file of the manifest `{manifest.name}` {fault}; write the manifest again with an Iceberg library"
    )
