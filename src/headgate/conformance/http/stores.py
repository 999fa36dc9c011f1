"""The store of one case: its own organizations, in a deployment that has its users already."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Head, Store
from headgate.control.kernel.stores import NumberedEntry, Stores
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.facts.ids import ResourceId


class CaseStores:
    """Implements `control.kernel.stores.Stores` over two stores: one has the log of the deployment, the other all other logs."""

    def __init__(self, deployment: Stores, organizations: Stores) -> None:
        self._deployment = deployment
        self._organizations = organizations

    def changed_elsewhere(self) -> bool:
        """Return False: no other process writes to these stores."""
        return False

    def check(self) -> None:
        """Raise `StoreError` unless both stores can be used."""
        self._deployment.check()
        self._organizations.check()

    def log(self, root: ResourceId) -> Store:
        """Return the store of a log."""
        return self._of(root).log(root)

    def logs(self) -> Sequence[ResourceId]:
        """Return the roots of the logs that have begun."""
        return (*self._deployment.logs(), *self._organizations.logs())

    def heads(self, roots: Sequence[ResourceId]) -> Mapping[ResourceId, Head]:
        """Return the newest revision and hash of each of these logs."""
        return {root: self.log(root).head() for root in roots}

    def newest_entry(self) -> NumberedEntry | None:
        """Return None: the logs are in several stores."""
        return None

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        """Return the document of a kind with an id, and its log; None if no log has it."""
        return self._organizations.find(kind, id) or self._deployment.find(kind, id)

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        """Write audit records."""
        self._organizations.audit(records)

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Return the audit records of a log."""
        return self._organizations.audit_records(root, wanted, before, limit)

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:  # noqa: ARG002 (the only writer)
        """Register no listener: no other process writes to these stores."""
        return lambda: None

    def close(self) -> None:
        """Close the store of the case; the deployment's store is shared and stays open."""
        self._organizations.close()

    def _of(self, root: ResourceId) -> Stores:
        return self._deployment if root == DEPLOYMENT else self._organizations
