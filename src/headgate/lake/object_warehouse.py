"""A warehouse in an object store, accessed through PyIceberg's FileIO. Only the server has the store's credentials."""

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
    """An organization's prefix in a bucket. It has no links and no folders; a file appears when it is written completely."""

    def __init__(
        self, prefix: str, properties: Mapping[str, str], organization: ResourceId, former: Container[ResourceId] = ()
    ) -> None:
        """`prefix` is the deployment's `s3://bucket/prefix`; `properties` are PyIceberg's properties of its FileIO.

        `former` are the organization's databases, including dropped ones.

        Raises `RuleError` for an invalid prefix, and for an organization id that cannot be the name of a folder.
        """
        self._all = place_of(prefix)
        self._root = organization_root(self._all, organization)
        self._former = former
        self._io: FileIO = load_file_io({**properties}, self._root)

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return the location of a new table of this database."""
        return f"{self._root}/{database}/{table}"

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if `path`, a file of the table at `location`, is outside of it."""
        require_own(self._all, self._root, location, self._former)
        if not is_inside(location, path):
            raise RuleError(OUTSIDE)

    def read(self, location: str, path: str) -> bytes:
        """Return the content of a file of the table. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        self.check(location, path)
        try:
            with self._io.new_input(path).open() as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError as error:
            raise GoneError(GONE) from error
        except OSError as error:
            raise InvalidMetadataError(
                "a file of the table cannot be read from the object store; ask the operator to check the store and its credentials, then retry"
            ) from error
        if len(content) > MAX_FILE_BYTES:
            raise InvalidMetadataError(TOO_LARGE)
        return content

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a new file of the table. The object store has it durably when the call returns.

        Raises `RuleError`, or `ConflictError` if the table's files are deleted at the same moment.
        """
        self.check(location, path)
        try:
            with self._io.new_output(path).create() as stream:
                stream.write(content)
        except FileNotFoundError as error:
            raise ConflictError(PURGED) from error

    def remove(self, location: str, path: str) -> None:
        """Delete a file of the table that no pointer names."""
        self.check(location, path)
        self._io.delete(path)

    def owner(self, location: str) -> ResourceId | None:
        """Return the id of the table whose folder below the organization's root is `location`; None for other locations."""
        return owner_of(self._root, location)

    def holds(self, location: str) -> bool:
        """Whether a location overlaps the deployment's warehouse: is equal to it, inside it or around it."""
        return overlap(self._all, location)

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:
        """Delete the named files of a dropped table in its own folder. Raises `RuleError` for any other location."""
        if self.owner(location) != table:
            raise RuleError(NOT_OURS)
        for path in files:
            self.remove(location, path)
