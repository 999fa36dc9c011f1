"""What control asks of a store: logs that are appended at an expected revision, with their documents and pointers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow, RunUpdate
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId

_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Names of object stores, and the one that stands for all of them."""


class StoreError(Exception):
    """The store cannot be used, and the message says what to do about it."""


class LogRefusedError(StoreError):
    """Everything in one organization is refused, because its log cannot be read; the other logs can be."""


class UnreadableLogError(StoreError):
    """The log holds entries that cannot be read; reading them again does not help until the operator restores the log."""


class RevisionConflictError(Exception):
    """The newest entry of the log is another one than the write was decided on."""


class PointerConflictError(Exception):
    """The table's metadata is not the one that the commit was made on, or its files are another table's."""


class DocumentConflictError(Exception):
    """A document is not as a write expects it: there already, or changed or erased since it was read."""


class RunConflictError(Exception):
    """The run is not as it was when the write was decided: somebody else has begun, ended or queued it meanwhile."""


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """Where a command came in: the endpoint, the id of its request, and the token that its actor used."""

    door: str = "headgate"
    request: str = ""
    token: TokenId | None = None


LOCAL = RequestOrigin()
"""The deployment's own doing."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """What was asked and allowed for a command, under which model, by which role and where that is assigned."""

    action: str
    resource: ResourceId
    model: str
    role: str = ""
    on: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a log by its revision and its hash, which stands for every entry up to it; without any, of an empty log."""

    revision: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One accepted command: its revision, when (seconds since the epoch), who, which, its changes, and why it might.

    `hash` and `previous_hash` are empty where an entry is not read from a log.
    """

    revision: int
    at: float
    actor: PrincipalId | None
    command: str
    changes: tuple[Change, ...]
    origin: RequestOrigin = LOCAL
    grounds: tuple[Authorization, ...] = ()
    hash: str = ""
    previous_hash: str = ""

    @property
    def head(self) -> Head:
        """The head of the log that ends with this entry."""
        return Head(self.revision, self.hash)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a table's current metadata lies."""

    table: ResourceId
    metadata_location: str

    @property
    def place(self) -> str:
        """Return the folder of the table's files, as one text however it is written: no two tables have the same."""
        folder = self.metadata_location.rpartition("/metadata/")[0] or self.metadata_location
        scheme, colon, rest = folder.partition(":") if not folder.startswith("/") else ("file", ":", folder)
        path = "/".join(part for part in rest.split("/") if part)
        return f"{_SCHEMES.get(scheme, scheme)}{colon}/{path}"


@dataclass(frozen=True, slots=True)
class PointerMove:
    """A commit: where the table's metadata is expected to lie, and where it lies from then on."""

    expected: Pointer
    new_location: str


@dataclass(frozen=True, slots=True)
class DocumentPut:
    """A row that facts point to and no decision depends on; replaces an older one. None erases it.

    A `new` one replaces nothing: where there is one already, the whole draft is not written. The same where a document
    is not what it is `expected` to be any more. What is good once is erased so, and used by the one caller that erased it.
    """

    kind: str
    id: str
    body: Mapping[str, Any] | None
    new: bool = False
    expected: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LogWrite:
    """What one accepted command writes, in one transaction."""

    at: float
    actor: PrincipalId | None
    command: str
    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    """New pointers. Those of deleted resources go with their `ResourceDeleted`."""
    origin: RequestOrigin = LOCAL
    grounds: tuple[Authorization, ...] = ()
    runs: tuple[RunUpdate, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The facts of a revision as bytes (`headgate.facts.checkpoint`), and when that entry was written."""

    revision: int
    at: float
    content: bytes


class Store(Protocol):
    """The log, the documents and the catalog pointers of one organization, or of the deployment itself."""

    def head(self) -> Head:
        """Return the newest entry's revision and hash."""
        ...

    def entries(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield the entries above revision `after`, oldest first."""
        ...

    def entry(self, revision: int) -> LogEntry | None:
        """Return one entry, or None."""
        ...

    def revision_at(self, at: float) -> int:
        """Return the newest revision that was written at this time (seconds since the epoch) or before; 0 for none."""
        ...

    def append(self, expected: Head, draft: LogWrite) -> Head:
        """Write the draft behind the entry `expected` and return the new head.

        Raises `RevisionConflictError` if `expected` is not the newest entry, by its revision or its hash, `PointerConflictError` if the draft makes a
        pointer of a table, or into the folder of a table, of any log, `DocumentConflictError` or `RunConflictError` if a
        document or a run is not as the draft expects it; then nothing is written.
        """
        ...

    def checkpoint(self, at_most: int | None = None) -> Checkpoint | None:
        """Return the newest checkpoint, or the newest of a revision that is not above `at_most`."""
        ...

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; it is a copy that can be made again, so that losing one loses nothing."""
        ...

    def pointer(self, table: ResourceId) -> Pointer | None:
        """Return the table's pointer, or None."""
        ...

    def pointers(self) -> Iterator[Pointer]:
        """Yield every pointer, in no order that means anything."""
        ...

    def swap_pointers(self, moves: Sequence[PointerMove], documents: Sequence[DocumentPut] = ()) -> None:
        """Move the pointers of a data commit, all or none, with what is kept of it (no log entry).

        Raises `PointerConflictError` if one of them has moved.
        """
        ...

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        ...

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return documents of a kind by id, all or those named."""
        ...

    def put_document(self, put: DocumentPut) -> None:
        """Write a document outside a command. Raises `DocumentConflictError` if it is not as expected."""
        ...

    def run(self, run: RunId) -> RunRow | None:
        """Return one run, or None."""
        ...

    def runs(self, wanted: RunFilter, limit: int = 100) -> Sequence[RunRow]:
        """Return so many runs at most: the newest first, or, of those that are due, what was due first."""
        ...

    def count_runs(self, wanted: RunFilter) -> int:
        """Return how many runs are wanted."""
        ...

    def put_run(self, put: RunUpdate) -> None:
        """Write a run outside a command. Raises `RunConflictError` if it is not as expected."""
        ...

    def renew(
        self, run: RunId, worker: str, attempt: int, lease: float, figures: Mapping[str, Any] | None = None
    ) -> bool:
        """Keep an attempt under way until `lease` (seconds since the epoch), and its figures where there are new ones.

        Return whether it still is this worker's; nothing is written else.
        """
        ...

    def append_log_lines(self, run: RunId, at: float, texts: Sequence[str]) -> None:
        """Add lines to a run's log."""
        ...

    def log_lines(self, run: RunId, after: int = 0, limit: int = 1000) -> Sequence[RunLogLine]:
        """Return so many lines of a run's log at most, those above the number `after`, in order."""
        ...
