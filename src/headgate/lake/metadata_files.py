"""A table as it is at one moment."""

from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata

from headgate.control.kernel.ports import Pointer
from headgate.lake.pointed import File


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table's metadata and the pointer that leads, or may lead, to it."""

    pointer: Pointer
    metadata: TableMetadata

    @property
    def file(self) -> File:
        """Where the metadata is kept."""
        return File(self.pointer, self.metadata.location)
