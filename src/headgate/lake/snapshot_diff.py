"""The effect of a snapshot on its parent's rows, found by comparing files. The snapshot's own summary is not trusted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.manifests import FileIdentity, TableFiles
from headgate.untrusted_input.manifest_answers import ManifestAnswer


@dataclass(frozen=True, slots=True)
class RowEffect:
    """The effect on rows: whether rows are added, whether rows are removed, and whether existing manifests were rewritten.

    A rewritten manifest can claim statistics of its files that make a scan skip them. Only a trusted writer may rewrite one
    without the privilege to remove rows.
    """

    adds: bool
    removes: bool
    rewrites: bool = False

    def __or__(self, other: "RowEffect") -> "RowEffect":
        return RowEffect(self.adds or other.adds, self.removes or other.removes, self.rewrites or other.rewrites)


NOTHING = RowEffect(adds=False, removes=False)
ALL_EFFECTS = RowEffect(adds=True, removes=True, rewrites=True)


def row_effect(files: TableFiles, snapshot: Snapshot, parent: Snapshot | None) -> RowEffect:
    """Return the effect of the snapshot on the rows of its parent."""
    before = files.manifests(parent) if parent else {}
    after = files.manifests(snapshot)
    # All fields are compared: a scan prunes by the summaries in the manifest list, so changing them hides rows.
    left = [each for path, each in before.items() if each != after.get(path)]
    gone = _live(files, left)
    come = _live(files, (each for path, each in after.items() if each != before.get(path)))
    lost = gone.keys() - come.keys()
    gained = [come[key] for key in come.keys() - gone.keys()]
    new_data = any(gained)
    new_deletes = not all(gained)
    # Removing a delete file brings rows back.
    resurrects = not all(gone[key] for key in lost)
    return RowEffect(adds=new_data or resurrects, removes=bool(lost) or new_deletes, rewrites=bool(left))


def _live(files: TableFiles, manifests: Iterable[ManifestAnswer]) -> Mapping[FileIdentity, bool]:
    """Return the files that are not deleted, each with whether it is a data file."""
    return {file.identity: file.is_data for file in files.files(manifests) if not file.is_deleted}
