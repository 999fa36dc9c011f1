"""What a snapshot does to its parent's rows, by comparing files. What its summary claims is not believed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from headgate.lake.manifests import Fingerprint, TableFiles, fingerprint


@dataclass(frozen=True, slots=True)
class Effect:
    """Whether rows come, whether rows go, and whether manifests that stay were written anew.

    A manifest that was written anew can say about its files what makes a scan skip them. Only a writer that is
    trusted to tell the truth may do that without the right to remove rows.
    """

    adds: bool
    removes: bool
    rewrites: bool = False

    def __or__(self, other: "Effect") -> "Effect":
        return Effect(self.adds or other.adds, self.removes or other.removes, self.rewrites or other.rewrites)


NOTHING = Effect(adds=False, removes=False)
EVERYTHING = Effect(adds=True, removes=True, rewrites=True)


def effect(files: TableFiles, snapshot: Snapshot, parent: Snapshot | None) -> Effect:
    """Return what the snapshot does to what its parent holds."""
    before = files.manifests(parent) if parent else {}
    after = files.manifests(snapshot)
    left = [each for path, each in before.items() if not _same(each, after.get(path))]
    gone = _live(files, left)
    come = _live(files, (each for path, each in after.items() if not _same(each, before.get(path))))
    lost = gone.keys() - come.keys()
    gained = [come[key] for key in come.keys() - gone.keys()]
    new_data = any(content == DataFileContent.DATA for content in gained)
    new_deletes = any(content != DataFileContent.DATA for content in gained)
    # A delete file that is lost brings rows back.
    resurrects = any(gone[key] != DataFileContent.DATA for key in lost)
    return Effect(adds=new_data or resurrects, removes=bool(lost) or new_deletes, rewrites=bool(left))


def _same(one: ManifestFile, other: ManifestFile | None) -> bool:
    # All fields: a scan prunes by the summaries in the manifest list, so changing them hides rows.
    return other is not None and fingerprint(one) == fingerprint(other)


def _live(files: TableFiles, manifests: Iterable[ManifestFile]) -> Mapping[Fingerprint, DataFileContent]:
    return {
        _identity(entry): entry.data_file.content
        for manifest in manifests
        for entry in files.entries(manifest)
        if entry.status != ManifestEntryStatus.DELETED
    }


def _identity(entry: ManifestEntry) -> Fingerprint:
    # With statistics and sequence numbers: changing them makes a scan skip the file, or a delete apply to it.
    file = entry.data_file
    return (file.spec_id, entry.sequence_number, entry.file_sequence_number, *fingerprint(file))
