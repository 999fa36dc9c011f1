"""Manifests of a table of format version 1: they name data files only, and have no sequence numbers.

Readers use both wherever they find them, whatever the table's version: a delete file would remove rows without a delete, and rows
with a sequence number of the future could not be deleted after an upgrade.

Sources: "Version 2" in the appendix of the Iceberg specification about format versions, and `V1Metadata` of Apache Iceberg.
"""

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifests import ListedFile, Manifests, TableFiles, list_new_manifests
from headgate.untrusted_input.manifest_answers import ManifestAnswer


def check_manifests_v1(files: TableFiles, snapshot: Snapshot, known: Manifests) -> None:
    """Raise `InvalidMetadataError` for a delete file or sequence number in the manifests of a snapshot.

    The entries of the manifests in `known` were checked when they were added; those of the manifest list are the snapshot's own.
    """
    listed = files.manifests(snapshot)
    for manifest in listed.values():
        if not manifest.is_data:
            raise _refusal(manifest, "is a delete manifest")
        if manifest.sequence_number != 0 or manifest.min_sequence_number != 0:
            raise _refusal(manifest, "has a sequence number in the manifest list")
    for manifest, found in files.files_by_manifest(list_new_manifests(listed, known)):
        for file in found:
            _check_file(manifest, file)


def _check_file(manifest: ManifestAnswer, file: ListedFile) -> None:
    if not file.is_data:
        raise _refusal(manifest, "names a delete file")
    _, sequence, own, _ = file.identity
    # A manifest without a sequence number passes on 0.
    if (sequence, own) != (0, 0):
        raise _refusal(manifest, "names a file with a sequence number")


def _refusal(manifest: ManifestAnswer, fault: str) -> InvalidMetadataError:
    return InvalidMetadataError(
        f"the manifest `{manifest.name}` {fault}, which tables of format version 1 do not have; write it as format "
        "version 1, or upgrade the table to format version 2 first"
    )
