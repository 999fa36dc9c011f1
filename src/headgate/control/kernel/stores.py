"""The port to the store of a deployment: it finds and follows every log."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Head, Store
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.ids import ResourceId


class Stores(Protocol):
    """Every log of a deployment: its own, and one for each organization. A log goes by the id of its root."""

    def changed_elsewhere(self) -> bool:
        """Say whether another process may have written since this was asked last. A store that cannot tell says yes.

        Then the newest revision has to be read before it is relied on.
        """
        ...

    def check(self) -> None:
        """Raise `StoreError` unless it can be read; where the last write failed, it has to take one again, too."""
        ...

    def log(self, root: ResourceId) -> Store:
        """Return the store of a log, which need not have begun."""
        ...

    def logs(self) -> Sequence[ResourceId]:
        """Return the roots of the logs that have begun."""
        ...

    def heads(self, roots: Sequence[ResourceId]) -> Mapping[ResourceId, Head]:
        """Return the newest revision and hash of each of these logs, in one read."""
        ...

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        """Return a document of any log with the root of that, for kinds whose ids nothing else has; None for none."""
        ...

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        """Keep records of the audit, each with the root of its log, in one write."""
        ...

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Return records of a log with their numbers, newest first, those below `before`, so many at most."""
        ...

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:
        """Call `heard` with root and revision when another process has written; return what ends that.

        Some revisions are never told: nothing may rest on it.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
