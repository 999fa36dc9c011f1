"""The effect of a snapshot on its parent's rows, found by comparing files. The snapshot's own summary is not trusted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.manifests import FileIdentity, ListedFile, TableFiles, list_new_manifests
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


def row_effect(files: TableFiles, snapshot: Snapshot, parent: Snapshot | None, *, guarded: bool) -> RowEffect:
    """Return the effect of the snapshot on the rows of its parent.

    In a guarded session, deletes of one data file bring no rows back if the data file is removed too, or if others of at least as
    many of its rows replace them, as each further DELETE does. Of any other client's deletes this is not known.
    """
    before = files.manifests(parent) if parent else {}
    after = files.manifests(snapshot)
    # All fields are compared: a scan prunes by the summaries in the manifest list, so changing them hides rows.
    left = [each for path, each in before.items() if not _is_kept(each, after.get(path))]
    gone = _live(files, left)
    come = _live(files, (each for path, each in after.items() if not _is_kept(before.get(path), each)))
    lost = [gone[key] for key in gone.keys() - come.keys()]
    gained = [come[key] for key in come.keys() - gone.keys()]
    # Change feeds read an entry of a deleted file as a delete, and some engines delete the file itself when its snapshot expires.
    new = files.files(list_new_manifests(after, before))
    deletes = any(each.is_deleted for each in new) or not all(each.is_data for each in gained)
    # Removing a delete file brings rows back.
    resurrects = any(not each.is_data for each in lost) and not (guarded and _are_replaced(lost, gained))
    adds = any(each.is_data for each in gained) or resurrects
    return RowEffect(adds=adds, removes=bool(lost) or deletes, rewrites=bool(left))


def _are_replaced(lost: Sequence[ListedFile], gained: Sequence[ListedFile]) -> bool:
    """Whether all lost delete files are of one data file each, and go with it or are replaced by one of as many rows."""
    removed = {each.path for each in lost if each.is_data} - {each.path for each in gained if each.is_data}
    deleted = {each.deletes_of: each.records for each in gained if each.deletes_of is not None}
    return all(
        each.deletes_of is not None and (each.deletes_of in removed or each.records <= deleted.get(each.deletes_of, -1))
        for each in lost
        if not each.is_data
    )


def _is_kept(before: ManifestAnswer | None, after: ManifestAnswer | None) -> bool:
    """Whether a manifest is unchanged, but that its rows may get ids: the first commit after an upgrade assigns them."""
    if before is None or after is None:
        return False
    assigned = after.first_row_id if before.first_row_id is None else before.first_row_id
    return after == replace(before, first_row_id=assigned)


def _live(files: TableFiles, manifests: Iterable[ManifestAnswer]) -> Mapping[FileIdentity, ListedFile]:
    """Return the files that are not deleted."""
    return {file.identity: file for file in files.files(manifests) if not file.is_deleted}
