"""What control asks of a store: a log that is appended at an expected revision, with its documents and pointers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId


class StoreError(Exception):
    """The store cannot be used, and the message says what to do about it."""


class RevisionConflictError(Exception):
    """The log has moved on since the snapshot that the write was decided on."""


class PointerConflictError(Exception):
    """The table's metadata is not the one that the commit was made on."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted command: its revision, when (seconds since the epoch), who, which, and its changes."""

    revision: int
    at: float
    actor: PrincipalId | None
    command: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a table's current metadata lies."""

    table: ResourceId
    metadata_location: str


@dataclass(frozen=True, slots=True)
class DocumentPut:
    """A row that facts point to and no decision depends on; replaces an older one. None erases it."""

    kind: str
    id: str
    body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Draft:
    """What one accepted command writes, in one transaction."""

    at: float
    actor: PrincipalId | None
    command: str
    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    """New pointers. Those of deleted resources go with their `ResourceDeleted`."""


class Store(Protocol):
    """The log, the documents and the catalog pointers of one deployment's embedded organization."""

    def head(self) -> int:
        """Return the newest revision; 0 for an empty log."""
        ...

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries above revision `after`, oldest first."""
        ...

    def append(self, expected: int, draft: Draft) -> int:
        """Write the draft at revision `expected` + 1 and return that revision.

        Raises `RevisionConflictError` if `expected` is not the newest, `PointerConflictError` if the draft makes a
        pointer that is there; then nothing is written.
        """
        ...

    def pointer(self, table: ResourceId) -> Pointer | None:
        """Return the table's pointer, or None."""
        ...

    def swap_pointer(self, expected: Pointer, new_location: str) -> None:
        """Move the pointer of a data commit (no log entry). Raises `PointerConflictError` if it has moved."""
        ...

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        ...

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return documents of a kind by id, all or those named."""
        ...

    def put_document(self, put: DocumentPut) -> None:
        """Write a document outside a command (progress of a run)."""
        ...
