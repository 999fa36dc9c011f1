"""The store of one case: the organizations of its own, in a deployment whose people are there already."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Head, Store
from headgate.control.kernel.stores import Stores
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.facts.ids import ResourceId


class CaseStores:
    """Keeps `control.ports.Stores` over two: the deployment's log is in the one, every other log in the other."""

    def __init__(self, deployment: Stores, organizations: Stores) -> None:
        self._deployment = deployment
        self._organizations = organizations

    def changed_elsewhere(self) -> bool:
        """Say that nobody else writes here."""
        return False

    def check(self) -> None:
        """Raise `StoreError` unless both can be used."""
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

    def find(self, kind: str, id: str) -> tuple[ResourceId, Mapping[str, Any]] | None:
        """Return a document of any log."""
        return self._organizations.find(kind, id) or self._deployment.find(kind, id)

    def audit(self, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
        """Keep records of the audit."""
        self._organizations.audit(records)

    def audit_records(
        self, root: ResourceId, wanted: AuditFilter, before: int | None = None, limit: int = 100
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Return records of a log."""
        return self._organizations.audit_records(root, wanted, before, limit)

    def listen(self, heard: Callable[[ResourceId, int], None], tasks: BackgroundTasks) -> Callable[[], None]:  # noqa: ARG002 (the only writer)
        """Tell nothing: no other process writes here."""
        return lambda: None

    def close(self) -> None:
        """Let go of what is the case's own."""
        self._organizations.close()

    def _of(self, root: ResourceId) -> Stores:
        return self._deployment if root == DEPLOYMENT else self._organizations
