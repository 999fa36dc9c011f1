"""Manifests of a snapshot: read from the table's folder `metadata`, parsed in another process."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyiceberg.table.snapshots import Snapshot

from headgate.lake.containment import is_directly_inside
from headgate.lake.errors import GoneError, InvalidMetadataError, RuleError
from headgate.lake.file_parsers import FileParsers
from headgate.lake.readable_schemas import find_repeated
from headgate.lake.warehouse import Warehouse
from headgate.untrusted_input.manifest_answers import FileAnswer, ManifestAnswer

Manifests = Mapping[str, ManifestAnswer]
"""The manifests of a snapshot, by path."""
FileIdentity = tuple[int, int | None, int | None, bytes]
"""All that a scan uses of a file. A change of any part can make a scan skip the file, or a delete apply to it."""

_ADDED: Final = 1
_DELETED: Final = 2
_DATA: Final = 0
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""The size of the manifests that one process parses at once."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A data or delete file of a manifest."""

    path: str
    is_data: bool
    is_added: bool
    is_deleted: bool
    identity: FileIdentity
    deletes_of: str | None
    """The data file of a deletion vector, or of position deletes that are all of one data file."""
    records: int
    first_row_id: int | None
    """The id of the file's first row, if the manifest itself names it; otherwise the manifest's first row id decides."""


class TableFiles:
    """The manifest lists and manifests of one table.

    Raises `RuleError` or `InvalidMetadataError` for a file that must not or cannot be read, and `BusyError`.
    """

    def __init__(self, warehouse: Warehouse, location: str, parsers: FileParsers) -> None:
        self._warehouse = warehouse
        self._location = location
        self._parsers = parsers
        self._listed: dict[str, Manifests] = {}
        self._repeated: dict[str, str | None] = {}
        self._read: dict[ManifestAnswer, Sequence[ListedFile]] = {}

    def manifests(self, snapshot: Snapshot) -> Manifests:
        """Return the manifests of a snapshot."""
        path = snapshot.manifest_list
        if path not in self._listed:
            listed = self._parsers.read_manifest_list(self._content(path))
            self._listed[path] = {manifest.path: manifest for manifest in listed}
            self._repeated[path] = find_repeated(manifest.path for manifest in listed)
        return self._listed[path]

    def files(self, manifests: Iterable[ManifestAnswer]) -> Iterator[ListedFile]:
        """Yield all files of the manifests, including deleted ones."""
        for _, files in self.files_by_manifest(manifests):
            yield from files

    def files_by_manifest(
        self, manifests: Iterable[ManifestAnswer]
    ) -> Iterator[tuple[ManifestAnswer, Sequence[ListedFile]]]:
        """Yield each manifest with its files in their order, including deleted ones."""
        named = tuple(manifests)
        for batch in self._batches(dict.fromkeys(each for each in named if each not in self._read)):
            answers = self._parsers.read_manifests(tuple(batch.values()))
            for manifest, files in zip(batch, answers, strict=True):
                self._read[manifest] = [_build_listed_file(manifest, each) for each in files]
        for manifest in named:
            yield manifest, self._read[manifest]

    def check_specs(self, snapshot: Snapshot, known: Manifests, specs: Container[int]) -> None:
        """Raise `InvalidMetadataError` if a new manifest has a partition spec that the table does not have: no engine could plan a scan."""
        for manifest in list_new_manifests(self.manifests(snapshot), known):
            if manifest.partition_spec_id not in specs:
                raise InvalidMetadataError(
                    f"the manifest `{manifest.name}` has the partition spec {manifest.partition_spec_id}, which the table "
                    "does not have; write it with a partition spec of the table"
                )

    def check(self, snapshot: Snapshot, known: Manifests) -> None:
        """Raise `RuleError` if a manifest, data or delete file of the snapshot, or the data file of its deletes, is outside its place.

        Files of deleted entries count: expiring snapshots deletes those files, and change feeds read them. The manifests in
        `known` were checked when they were added. Raises `InvalidMetadataError` for a missing manifest.
        """
        try:
            self._check(snapshot, known)
        except GoneError:
            raise InvalidMetadataError(
                "a snapshot names a manifest list or manifest that does not exist; write that file before the commit"
            ) from None

    def _check(self, snapshot: Snapshot, known: Manifests) -> None:
        listed = self.manifests(snapshot)
        repeated = self._repeated[snapshot.manifest_list]
        if repeated is not None:
            raise InvalidMetadataError(
                f"a manifest list names the manifest `{repeated.rpartition('/')[2]}` twice; name each manifest once"
            )
        for path, manifest in listed.items():
            self._check_place(path)
            if manifest.is_encrypted:
                raise RuleError(
                    "a manifest of the table is encrypted, and encrypted manifests are not supported; write it without encryption"
                )
        for file in self.files(list_new_manifests(listed, known)):
            for each in (file.path, file.deletes_of):
                if each is not None:
                    self._warehouse.check(self._location, each)

    def list_named_files(self, snapshots: Iterable[Snapshot]) -> Iterator[str]:
        """Yield every file that the snapshots name, some more than once; each list comes after the files in it."""
        for snapshot in snapshots:
            listed = self.manifests(snapshot)
            yield from (file.path for file in self.files(listed.values()))
            yield from listed
            yield snapshot.manifest_list

    def _batches(self, wanted: Iterable[ManifestAnswer]) -> Iterator[Mapping[ManifestAnswer, bytes]]:
        """Yield the manifests with their bytes, in batches that one process can parse."""
        batch: dict[ManifestAnswer, bytes] = {}
        size = 0
        for manifest in wanted:
            batch[manifest] = self._content(manifest.path)
            size += len(batch[manifest])
            if size > _BATCH_BYTES:
                yield batch
                batch, size = {}, 0
        if batch:
            yield batch

    def _content(self, path: str) -> bytes:
        self._check_place(path)
        return self._warehouse.read(self._location, path)

    def _check_place(self, path: str) -> None:
        self._warehouse.check(self._location, path)
        if not is_directly_inside(f"{self._location}/metadata", path):
            raise RuleError(
                f"the manifest list or manifest `{path.rpartition('/')[2]}` is not directly in the folder `metadata` of the table's location; write it there"
            )


def list_new_manifests(listed: Manifests, known: Manifests) -> Sequence[ManifestAnswer]:
    """Return the listed manifests that are not in `known`."""
    return [each for path, each in listed.items() if path not in known]


def _build_listed_file(manifest: ManifestAnswer, file: FileAnswer) -> ListedFile:
    """Return a file, with the sequence numbers that it inherits from its manifest under Iceberg's rules."""
    inherits = file.status == _ADDED or manifest.sequence_number == 0
    inherited = manifest.sequence_number if inherits else None
    sequence = inherited if file.sequence_number is None else file.sequence_number
    own = inherited if file.file_sequence_number is None else file.file_sequence_number
    identity = (manifest.partition_spec_id, sequence, own, file.identity)
    is_data, is_added, is_deleted = file.content == _DATA, file.status == _ADDED, file.status == _DELETED
    return ListedFile(
        file.path, is_data, is_added, is_deleted, identity, file.deletes_of, file.records, file.first_row_id
    )
