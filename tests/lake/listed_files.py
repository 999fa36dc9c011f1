"""The manifests of snapshots and the files in them, without any file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyiceberg.table.snapshots import Snapshot
from typing_extensions import override

from headgate.lake.manifests import ListedFile, Manifests, TableFiles
from headgate.untrusted_input.manifest_answers import ManifestAnswer


def listed_file(path: str, *, records: int = 10, **more: Any) -> ListedFile:
    """Return a data file that its manifest adds, unless `more` has other fields."""
    said = {"is_data": True, "is_added": True, "is_deleted": False, "deletes_of": None, "first_row_id": None}
    whole = {"identity": (0, 1, 1, path.encode()), "records": records}
    return ListedFile(path, **{**said, **whole, **more})


def listed_manifest(path: str, first_row_id: int | None = None, **more: Any) -> ManifestAnswer:
    """Return a data manifest of ten rows."""
    said = {"is_data": True, "is_encrypted": False, "added_rows": 10, "existing_rows": 0, "identity": b"same"}
    return ManifestAnswer(path, 0, 1, 1, first_row_id=first_row_id, **{**said, **more})


class ListedFiles(TableFiles):
    """The files of snapshots, by manifest list and by manifest."""

    def __init__(
        self, lists: Mapping[str, Sequence[ManifestAnswer]], files: Mapping[str, Sequence[ListedFile]]
    ) -> None:
        self._lists = lists
        self._files = files

    @override
    def manifests(self, snapshot: Snapshot) -> Manifests:
        return {each.path: each for each in self._lists[snapshot.manifest_list]}

    @override
    def files_by_manifest(
        self, manifests: Iterable[ManifestAnswer]
    ) -> Iterator[tuple[ManifestAnswer, Sequence[ListedFile]]]:
        for each in manifests:
            yield each, self._files[each.path]
