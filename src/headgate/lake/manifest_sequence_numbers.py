"""Sequence numbers in the manifests of a snapshot, which decide the rows that a delete file removes: none is of the future.

A delete could not remove a row with a number of the future, and a delete file with one would remove rows that are added later.
Iceberg's library drops the delete files below the smallest number of all data manifests, so that one must be a lower bound.

Sources: "Sequence Numbers" and "Sequence Number Inheritance" of the Iceberg specification, `InheritableMetadataFactory` and
`MergingSnapshotProducer` of Apache Iceberg.
"""

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifests import ListedFile, Manifests, TableFiles, list_new_manifests
from headgate.untrusted_input.manifest_answers import ManifestAnswer


def check_sequence_numbers(files: TableFiles, snapshot: Snapshot, known: Manifests) -> None:
    """Raise `InvalidMetadataError` for numbers below 0 or above the snapshot's own in its manifests.

    Those in `known` were checked when they were added, and keep their numbers.
    """
    last = snapshot.sequence_number or 0
    for path, manifest in files.manifests(snapshot).items():
        _check_manifest(manifest, known.get(path), last)
    for manifest, found in files.files_by_manifest(list_new_manifests(files.manifests(snapshot), known)):
        for file in found:
            _check_file(manifest, file, last)


def _check_manifest(manifest: ManifestAnswer, before: ManifestAnswer | None, last: int) -> None:
    lowest, own = manifest.min_sequence_number, manifest.sequence_number
    if before is None and not 0 <= lowest <= own <= last:
        raise _refusal(manifest, f"has a `min_sequence_number` or `sequence_number` that is not between 0 and {last}")
    if before is not None and (lowest, own) != (before.min_sequence_number, before.sequence_number):
        raise _refusal(manifest, "has another `min_sequence_number` or `sequence_number` than in the parent snapshot")


def _check_file(manifest: ManifestAnswer, file: ListedFile, last: int) -> None:
    _, sequence, own, _ = file.identity
    if sequence is None and not file.is_deleted:
        raise _refusal(manifest, "names an existing file without a `sequence_number`")
    if any(each is not None and not 0 <= each <= last for each in (sequence, own)):
        raise _refusal(manifest, f"names a file with a sequence number that is not between 0 and {last}")
    if sequence is not None and not file.is_deleted and sequence < manifest.min_sequence_number:
        raise _refusal(manifest, "names a file with a sequence number below the manifest's `min_sequence_number`")


def _refusal(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(
        f"the manifest `{manifest.name}` {fault}; write the manifest list and the manifest again with an Iceberg library"
    )
