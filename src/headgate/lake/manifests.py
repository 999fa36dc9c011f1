"""Reading the manifests of a snapshot, each only after it is known to lie inside the table's location."""

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import ManifestEntry, ManifestFile, read_manifest_list
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from headgate.lake.errors import InvalidError, LakeError, RuleError
from headgate.lake.warehouse import Warehouse

Fingerprint = tuple[Any, ...]
"""All fields of an Avro record. PyIceberg's own equality compares only the path."""


class TableFiles:
    """The manifest lists and manifests of one table. Raises `RuleError` or `InvalidError` for what it must not read."""

    def __init__(self, warehouse: Warehouse, location: str) -> None:
        self._warehouse = warehouse
        self._location = location
        self._io = _ContainedIO(warehouse, location)
        self._listed: dict[str, tuple[ManifestFile, ...]] = {}
        self._read: dict[Fingerprint, list[ManifestEntry]] = {}

    def manifests(self, snapshot: Snapshot) -> Mapping[str, ManifestFile]:
        """Return the manifests of a snapshot by path."""
        path = snapshot.manifest_list
        if path not in self._listed:
            try:
                self._listed[path] = tuple(read_manifest_list(self._io.new_input(path)))
            except LakeError:
                raise
            except Exception as error:  # the bytes are the client's: any failure is a bad file
                raise InvalidError("a manifest list cannot be read") from error
        return {manifest.manifest_path: manifest for manifest in self._listed[path]}

    def entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """Return all entries of a manifest, those of deleted files too."""
        key = fingerprint(manifest)
        if key not in self._read:
            try:
                self._read[key] = manifest.fetch_manifest_entry(self._io, discard_deleted=False)
            except LakeError:
                raise
            except Exception as error:  # the bytes are the client's: any failure is a bad file
                raise InvalidError("a manifest cannot be read") from error
        return self._read[key]

    def check(self, snapshot: Snapshot, known: Mapping[str, ManifestFile]) -> None:
        """Raise `RuleError` if the snapshot has a manifest, data or delete file outside the table's location.

        Entries of deleted files count: expiring snapshots removes those files, and change feeds read them. The
        manifests in `known` were checked when they were added.
        """
        for path, manifest in self.manifests(snapshot).items():
            self._warehouse.check(self._location, path)
            if manifest.key_metadata:
                raise RuleError("encrypted manifests are not supported")
            if path not in known:
                for entry in self.entries(manifest):
                    self._warehouse.check(self._location, entry.data_file.file_path)

    def named(self, snapshots: Iterable[Snapshot]) -> Iterator[str]:
        """Yield every file that the snapshots name, some more than once, and each list after what it lists."""
        for snapshot in snapshots:
            for path, manifest in self.manifests(snapshot).items():
                yield from (entry.data_file.file_path for entry in self.entries(manifest))
                yield path
            yield snapshot.manifest_list


def fingerprint(record: Record) -> Fingerprint:
    """Return every field of a record, comparable and hashable."""
    return tuple(_frozen(record[position]) for position in range(len(record)))


def _frozen(value: Any) -> Any:
    if isinstance(value, Record):
        return fingerprint(value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(each)) for key, each in value.items())) or None
    if isinstance(value, list | tuple):
        return tuple(_frozen(each) for each in value) or None
    return value


class _ContainedIO(FileIO):
    """Opens only what lies inside one table's location, and writes nothing."""

    def __init__(self, warehouse: Warehouse, location: str) -> None:
        super().__init__()
        self._warehouse = warehouse
        self._table_location = location

    def new_input(self, location: str) -> InputFile:
        return _Bytes(location, self._warehouse.read(self._table_location, location))

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError


class _Bytes(InputFile):
    """A file that was read already."""

    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002, FBT001, FBT002 - PyIceberg's signature
        return cast(InputStream, io.BytesIO(self._content))
