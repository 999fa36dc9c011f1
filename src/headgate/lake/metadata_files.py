"""Metadata files and their pointers: files are written first, pointers swapped together, unused files deleted."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata

from headgate.control.kernel.ports import DocumentPut, Pointer, PointerConflictError, PointerMove, Store
from headgate.facts.ids import ResourceId
from headgate.lake.errors import ConflictError, InvalidMetadataError, MissingMetadataError
from headgate.lake.metadata import next_path
from headgate.lake.warehouse import MAX_FILE_BYTES, Warehouse
from headgate.untrusted_input.json_documents import MAX_VALUES


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A metadata file of the table or view at `location`, with its pointer, which may not be stored yet."""

    pointer: Pointer
    location: str


class MetadataFiles:
    """The metadata files of a warehouse and the pointers to them."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse

    def find(self, id: ResourceId) -> MetadataFile:
        """Return the file that the pointer of a table or view names. Raises `MissingMetadataError`."""
        pointer = self._store.pointer(id)
        if pointer is None:
            raise MissingMetadataError("the table or view does not exist")
        return MetadataFile(pointer, location_of(pointer.metadata_location))

    def read(self, file: MetadataFile) -> bytes:
        """Return the content of the file. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        content = self._warehouse.read(file.location, file.pointer.metadata_location)
        check_size(content)
        return content

    def write(self, id: ResourceId, location: str, base_path: str | None, content: bytes) -> MetadataFile:
        """Write the next metadata file after the one at `base_path`, or the first one. No pointer names it yet.

        Raises `InvalidMetadataError` for a content that is too large to be read back.
        """
        check_size(content)
        path = next_path(location, base_path, str(uuid.uuid4()))
        self._warehouse.write_new(location, path, content)
        return MetadataFile(Pointer(id, path), location)

    def swap(self, moves: Sequence[tuple[Pointer, MetadataFile]], documents: Sequence[DocumentPut]) -> None:
        """Make all of these files the current ones, or delete them and raise `ConflictError`."""
        wanted = [PointerMove(expected, file.pointer.metadata_location) for expected, file in moves]
        try:
            self._store.swap_pointers(wanted, documents)
        except PointerConflictError as error:
            for _, file in moves:
                self.discard(file)
            raise ConflictError(str(error)) from error

    def discard(self, file: MetadataFile) -> None:
        """Delete a metadata file that no pointer names."""
        self._warehouse.remove(file.location, file.pointer.metadata_location)


def check_size(content: bytes) -> None:
    """Raise `InvalidMetadataError` for a metadata file with too many bytes or values, before it is parsed."""
    if len(content) > MAX_FILE_BYTES or content.count(b",") > MAX_VALUES:
        most = MAX_FILE_BYTES // 1024 // 1024
        raise InvalidMetadataError(
            f"the metadata file has more than {most} MiB or {MAX_VALUES:,} values; expire snapshots of the table, or remove versions of the view, to make it smaller"
        )


def location_of(metadata_location: str) -> str:
    """Return the location of the table or view of a metadata file."""
    return metadata_location.rpartition("/metadata/")[0]


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table's metadata with its pointer, which may not be stored yet."""

    pointer: Pointer
    metadata: TableMetadata

    @property
    def file(self) -> MetadataFile:
        """The file of the metadata."""
        return MetadataFile(self.pointer, self.metadata.location)
