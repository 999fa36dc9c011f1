"""A warehouse in an object store, through the FileIO that PyIceberg has for it. Its keys stay on the server's side."""

from collections.abc import Container, Iterator, Mapping

from pyiceberg.io import FileIO, load_file_io

from headgate.facts.ids import ResourceId
from headgate.lake.containment import is_inside, overlap, place_of
from headgate.lake.errors import ConflictError, GoneError, InvalidMetadataError, RuleError
from headgate.lake.warehouse import (
    GONE,
    MAX_FILE_BYTES,
    NOT_OURS,
    OUTSIDE,
    PURGED,
    TOO_LARGE,
    organization_root,
    owner_of,
    require_own,
)


class ObjectWarehouse:
    """An organization's prefix in a bucket. There are no links and no folders: a file is there once it is written whole."""

    def __init__(
        self, prefix: str, properties: Mapping[str, str], organization: ResourceId, former: Container[ResourceId] = ()
    ) -> None:
        """Take the deployment's `s3://bucket/prefix` and PyIceberg's properties of its FileIO.

        `former` are the organization's databases, also dropped ones.

        Raises `RuleError` for another place, and for an id that is no name of a folder.
        """
        self._all = place_of(prefix)
        self._root = organization_root(self._all, organization)
        self._former = former
        self._io: FileIO = load_file_io({**properties}, self._root)

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        return f"{self._root}/{database}/{table}"

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if a file of the table at `location` lies outside of it."""
        require_own(self._all, self._root, location, self._former)
        if not is_inside(location, path):
            raise RuleError(OUTSIDE)

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        self.check(location, path)
        try:
            with self._io.new_input(path).open() as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError as error:
            raise GoneError(GONE) from error
        except OSError as error:
            raise InvalidMetadataError("a file that the table names cannot be read") from error
        if len(content) > MAX_FILE_BYTES:
            raise InvalidMetadataError(TOO_LARGE)
        return content

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet; the store keeps it once this returns. Raises as files do."""
        self.check(location, path)
        try:
            with self._io.new_output(path).create() as stream:
                stream.write(content)
        except FileNotFoundError as error:
            raise ConflictError(PURGED) from error

    def remove(self, location: str, path: str) -> None:
        """Remove a file of the table that nothing points to."""
        self.check(location, path)
        self._io.delete(path)

    def owner(self, location: str) -> ResourceId | None:
        """Return the table whose folder below the organization's root this is; None for any other place."""
        return owner_of(self._root, location)

    def holds(self, location: str) -> bool:
        """Return whether a location is the deployment's warehouse, lies in it or around it."""
        return overlap(self._all, location)

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:
        """Remove the named files of a dropped table in its own folder. Raises `RuleError` for any other place."""
        if self.owner(location) != table:
            raise RuleError(NOT_OURS)
        for path in files:
            self.remove(location, path)
