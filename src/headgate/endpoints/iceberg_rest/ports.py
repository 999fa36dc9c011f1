"""What this endpoint asks of the rest: who is asking, what they may do, and the commands behind its writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import Scope

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import Pointer
from headgate.control.organizations.organization import Organization
from headgate.control.questions.by_name import Verdict
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog

QualifiedName = tuple[str, ...]
"""A full name, lake first: `("lake", "raw", "flights")`."""


class GateError(Exception):
    """A command was not accepted, and changed nothing."""


class AccessDeniedError(GateError):
    """A command was refused when it was decided on the facts it would have landed on."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class NameTakenError(GateError):
    """There is something of that name already."""


class NamespaceNotEmptyError(GateError):
    """The database still holds something."""


class UnderWayError(GateError):
    """The same request, under the same key, is being carried out just now."""


class SenderDeniedError(Exception):
    """The sender of a request is unknown in the organization that the request addresses, or that is suspended.

    `addressed` is that organization, None if there is none; `code` is that of the denial.
    """

    def __init__(self, code: str, addressed: Organization | None) -> None:
        super().__init__(code)
        self.code = code
        self.addressed = addressed


class Gate(Protocol):
    """Decisions and commands by name.

    `check` may allow an action on a name that does not exist; then the verdict has no resource. The commands raise
    `AccessDeniedError`, for something that is gone with a verdict that is not discoverable; they change nothing then.
    """

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may do this, and may know of the name."""
        ...

    def serves(self, caller: Caller, names: Sequence[str]) -> bool:
        """Answer whether the caller is the run of a service of the table that leaves its rows as they are."""
        ...

    def databases(self, caller: Caller, lake: QualifiedName) -> Sequence[str]:
        """Return the names of the databases that the caller may discover, sorted."""
        ...

    def tables(self, caller: Caller, database: QualifiedName, *, views: bool) -> Sequence[str]:
        """Return the names of the tables, or of the views, that the caller may discover, sorted."""
        ...

    def is_view(self, resource: ResourceId) -> bool:
        """Return whether this is a view rather than a table."""
        ...

    def properties(self, database: ResourceId) -> Mapping[str, str]:
        """Return the properties of a database."""
        ...

    def kept(self, key: str) -> Mapping[str, Any] | None:
        """Return what was kept with a command under a client's key, or None."""
        ...

    def replay_scope(self, caller: Caller) -> str:
        """Return whose repeated requests get the answer of the first one."""
        ...

    def record_denial(self, caller: Caller, denial: Denial, request: str) -> None:
        """Record in the audit that the request of this id was denied."""
        ...

    def create_database(
        self, caller: Caller, name: QualifiedName, properties: Mapping[str, str], call: CommandMetadata
    ) -> None:
        """Make a database. Raises `NameTakenError`."""
        ...

    def change_properties(
        self,
        caller: Caller,
        database: ResourceId,
        updates: Mapping[str, str],
        removals: Sequence[str],
        call: CommandMetadata,
    ) -> None:
        """Set and remove properties of a database."""
        ...

    def drop_database(self, caller: Caller, name: QualifiedName, call: CommandMetadata) -> None:
        """Remove an empty database. Raises `NamespaceNotEmptyError`."""
        ...

    def create_table(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        """Make a table and its pointer in one transaction. Raises `NameTakenError`."""
        ...

    def register_table(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        """Make a table of metadata that is there, with its pointer in one transaction. Raises `NameTakenError`."""
        ...

    def create_view(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        """Make a view and its pointer in one transaction. Raises `NameTakenError`."""
        ...

    def rename_table(self, caller: Caller, table: ResourceId, name: QualifiedName, call: CommandMetadata) -> None:
        """Give a table or view another name, perhaps in another database. Raises `NameTakenError`."""
        ...

    def drop_table(self, caller: Caller, table: ResourceId, call: CommandMetadata) -> None:
        """Remove a table or view and its pointer in one transaction."""
        ...


@dataclass(frozen=True, slots=True)
class Lake:
    """The lake of one organization. `name` is what every full name in it begins with."""

    gate: Gate
    tables: TableCatalog
    views: ViewCatalog
    name: str = "lake"


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who is asking, in which lake. `guarded` if it comes from the Spark driver, which decides each statement before."""

    caller: Caller
    guarded: bool
    lake: Lake


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it was sent. `target` is path with query, header names are in lower case.

    `organization` is the one that its address names (`/o/{organization}/...`), which the target does not hold.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    organization: str | None = None


AuthenticateRequest = Callable[[HttpRequest], Authenticated]
"""Returns the sender of a request. Raises `SenderDeniedError` for an unknown one, and while its organization is suspended."""

RecordDenial = Callable[[Scope, Denial], None]
"""Records in the audit that a request of an unknown sender was denied."""
