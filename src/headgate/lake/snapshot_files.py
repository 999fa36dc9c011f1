"""Checks of the manifests and files of a snapshot that do not depend on row ids, of new snapshots and of those of registered tables."""

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from headgate.lake.manifest_sequence_numbers import check_sequence_numbers
from headgate.lake.manifests import Manifests, TableFiles
from headgate.lake.manifests_v1 import check_manifests_v1
from headgate.lake.metadata_v1 import FIRST_VERSION


def check_snapshot_files(files: TableFiles, snapshot: Snapshot, known: Manifests, metadata: TableMetadata) -> None:
    """Raise `RuleError` or `InvalidMetadataError` for a manifest or file that a snapshot of the table must not have.

    The manifests in `known` were checked when they were added.
    """
    files.check(snapshot, known)
    files.check_specs(snapshot, known, metadata.specs())
    check = check_manifests_v1 if metadata.format_version == FIRST_VERSION else check_sequence_numbers
    check(files, snapshot, known)
