"""Storage port of a deployment: finds and follows every log."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Head, Store
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    """An entry with its number among those of all logs: each new entry has the next number."""

    number: int
    log: ResourceId
    head: Head


class Stores(Protocol):
    """Every log of a deployment: its own, and one for each organization. The id of a log is that of its root resource."""

    def changed_elsewhere(self) -> bool:
        """Return whether another process may have written since the last call; always True for a store that cannot know.

        If True, the caller must read the newest revision before it relies on it.
        """
        ...

    def check(self) -> None:
        """Raise `StoreError` unless the store can be read and, after a failed write, can be written again."""
        ...

    def log(self, root: ResourceId) -> Store:
        """Return the store of a log; the log may still be empty."""
        ...

    def logs(self) -> Sequence[ResourceId]:
        """Return the roots of the logs that have entries."""
        ...

    def heads(self, roots: Sequence[ResourceId]) -> Mapping[ResourceId, Head]:
        """Return the newest revision and hash of each of these logs, in one read."""
        ...

    def newest_entry(self) -> NumberedEntry | None:
        """Return the newest entry of all logs, in microseconds; None if there is none, or if the store does not number them."""
        ...

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        """Return a document of any log, with the root of that log, or None. For kinds whose ids are unique in the deployment."""
        ...

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        """Write audit records, each with the root of its log, in one transaction."""
        ...

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Return at most `limit` audit records of a log with their numbers, newest first, below the number `before`."""
        ...

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:
        """Call `heard` with root and revision when another process has written; return a function that stops the calls.

        Notifications may be missing: no correctness may depend on them.
        """
        ...

    def close(self) -> None:
        """Close the database."""
        ...
