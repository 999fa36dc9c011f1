"""Storage port: logs that are appended at an expected revision, with their documents, pointers and runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow, RunUpdate
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId

_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""URL schemes of object stores, and the scheme that replaces them for comparison."""


class StoreError(Exception):
    """The store cannot be used; the message says what to do."""


class LogRefusedError(StoreError):
    """Every request to one organization is refused, because its log cannot be read; the other logs can be read."""


class UnreadableLogError(StoreError):
    """The log holds entries that cannot be read; reading them again does not help until the operator restores the log."""


class RevisionConflictError(Exception):
    """Optimistic write conflict: the newest entry of the log is not the one that the write was decided on."""


class PointerConflictError(Exception):
    """The table's metadata is not that on which the commit is based, or its folder belongs to another table."""


class DocumentConflictError(Exception):
    """A document is not as a write expects it: it exists already, or was changed or erased since it was read."""


class RunConflictError(Exception):
    """The run has changed since the write was decided: another process has begun, ended or queued it meanwhile."""


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The origin of a command: its endpoint, the id of its request, and the token that its actor used."""

    door: str = "headgate"
    request: str = ""
    token: TokenId | None = None


LOCAL = RequestOrigin()
"""The origin of a command of the deployment itself."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """An allowed action of a command: its resource, the model that decided, the role that allowed it, and where that is assigned."""

    action: str
    resource: ResourceId
    model: str
    role: str = ""
    on: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a log: its revision and its hash, which covers every entry before it. The defaults are of an empty log."""

    revision: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One accepted command: revision, time (seconds since the epoch), actor, command, changes, and what authorized it.

    `hash` and `previous_hash` are empty if the entry was not read from a log.
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
        """The head of a log whose newest entry is this one."""
        return Head(self.revision, self.hash)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The location of a table's current metadata."""

    table: ResourceId
    metadata_location: str

    @property
    def place(self) -> str:
        """The normalized folder of the table's files, the same for every spelling; no two tables have the same folder."""
        folder = self.metadata_location.rpartition("/metadata/")[0] or self.metadata_location
        scheme, colon, rest = folder.partition(":") if not folder.startswith("/") else ("file", ":", folder)
        path = "/".join(part for part in rest.split("/") if part)
        return f"{_SCHEMES.get(scheme, scheme)}{colon}/{path}"


@dataclass(frozen=True, slots=True)
class PointerMove:
    """A commit: the expected location of the table's metadata, and its new location."""

    expected: Pointer
    new_location: str


@dataclass(frozen=True, slots=True)
class DocumentPut:
    """A document to write: a row that facts refer to and no decision depends on. It replaces the older one; None erases it.

    With `new`, the whole draft fails if the document exists. With `expected`, the whole draft fails if the document
    differs from that. A secret that is valid once is erased with `expected`, so that only one caller can use it.
    """

    kind: str
    id: str
    body: Mapping[str, Any] | None
    new: bool = False
    expected: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LogWrite:
    """The write of one accepted command, in one transaction."""

    at: float
    actor: PrincipalId | None
    command: str
    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    """New pointers. Those of deleted resources are removed with their `ResourceDeleted`."""
    origin: RequestOrigin = LOCAL
    grounds: tuple[Authorization, ...] = ()
    runs: tuple[RunUpdate, ...] = ()

    @property
    def is_log_entry_only(self) -> bool:
        """Whether it writes nothing beside its log entry, so that it cannot conflict with a document, pointer or run."""
        return not (self.documents or self.pointers or self.runs)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The facts of a revision as bytes (`headgate.facts.checkpoint`), and the time of that entry."""

    revision: int
    at: float
    content: bytes


class DocumentSource(Protocol):
    """A source of documents, such as a store."""

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        ...


class Store(DocumentSource, Protocol):
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

    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        """Append drafts after the entry `expected`, in one transaction, and return the new head.

        Raises `RevisionConflictError` if `expected` is not the newest entry, by its revision or its hash;
        `PointerConflictError` if a new pointer of a draft is of an existing table of any log, or into its folder;
        `DocumentConflictError` or `RunConflictError` if a document or a run is not as a draft expects it. Then nothing is
        written.
        """
        ...

    def checkpoint(self, at_most: int | None = None) -> Checkpoint | None:
        """Return the newest checkpoint, or the newest of a revision that is not above `at_most`."""
        ...

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint. It is derived from the log, so that losing one loses no data."""
        ...

    def pointer(self, table: ResourceId) -> Pointer | None:
        """Return the table's pointer, or None."""
        ...

    def pointers(self) -> Iterator[Pointer]:
        """Yield every pointer, in no particular order."""
        ...

    def swap_pointers(self, moves: Sequence[PointerMove], documents: Sequence[DocumentPut] = ()) -> None:
        """Move the pointers of a data commit, all or none, and write its documents (no log entry).

        Raises `PointerConflictError` if one of them has been moved meanwhile.
        """
        ...

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the documents of a kind by id: all, or those with the given ids."""
        ...

    def put_document(self, put: DocumentPut) -> None:
        """Write a document outside a command. Raises `DocumentConflictError` if it is not as expected."""
        ...

    def run(self, run: RunId) -> RunRow | None:
        """Return one run, or None."""
        ...

    def runs(self, wanted: RunFilter, limit: int = 100) -> Sequence[RunRow]:
        """Return at most `limit` runs: the newest first, or, if due runs are selected, those that were due first."""
        ...

    def count_runs(self, wanted: RunFilter) -> int:
        """Return the number of runs that the filter selects."""
        ...

    def put_run(self, put: RunUpdate) -> None:
        """Write a run outside a command. Raises `RunConflictError` if it is not as expected."""
        ...

    def renew(
        self, run: RunId, worker: str, attempt: int, lease: float, figures: Mapping[str, Any] | None = None
    ) -> bool:
        """Renew the lease of an attempt until `lease` (seconds since the epoch), and store new figures, if any.

        Return whether the attempt still belongs to this worker; otherwise nothing is written.
        """
        ...

    def append_log_lines(self, run: RunId, at: float, texts: Sequence[str]) -> None:
        """Add lines to a run's log."""
        ...

    def log_lines(self, run: RunId, after: int = 0, limit: int = 1000) -> Sequence[RunLogLine]:
        """Return at most `limit` lines of a run's log with numbers above `after`, in order."""
        ...
