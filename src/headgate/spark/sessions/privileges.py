"""The privileges that a statement requires, as reported by the guard, and the check of all of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final, Literal, Protocol, Self

from pydantic import BaseModel, Field, model_validator

from headgate.control.catalog.tables import VIEW
from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.audit_records import REFUSED, SUSPENDED, UNAUTHENTICATED, Denial
from headgate.control.kernel.names import TYPES, find_by_name
from headgate.control.kernel.operations import list_places
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import denial_text
from headgate.control.questions.operation_names import OperationName
from headgate.decision.caller_validity import caller_invalid
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

ObjectNames = Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]


class ExternalAccess(Protocol):
    """Access to files and databases outside the lake. Only runs have it, for the connections that their pipelines declare."""

    def may_access(self, caller: Caller, action: str, path: str, /) -> bool:
        """Whether the caller may perform an action (such as `path.read`) on a path."""
        ...

    def may_use(self, caller: Caller, connection: str, /) -> bool:
        """Whether the caller may use the connection that the run's pipeline declares by this name."""
        ...

    def jdbc_access(self, caller: Caller, connection: str, /) -> JdbcAccess:
        """Return the JDBC access to the database of such a connection. Raises `JdbcAccessError`."""
        ...


_REMOVING: Final = ("resource.delete", "table.rename", "table.replace")
"""The operations after which the name of their first resource is gone, or names another resource."""
MOST_REFUSALS: Final = 20
"""The limit of refused privileges of one statement in the audit: deciding on a refused one takes longer than on others."""
_NO_CONNECTION: Final = "a connection can be used only in a run of a pipeline that declares it; add it to a pipeline"
_NO_PATH: Final = "files can be read and written only in a run of a pipeline, through a connection that the pipeline declares; use a table, or a path of such a connection"


class RequiredPath(BaseModel, extra="forbid", frozen=True):
    """Access to a file or folder through a connection, or by a stream that stores its checkpoint there."""

    action: Literal["path.read", "path.write", "path.checkpoint"]
    path: str


class RequiredConnection(BaseModel, extra="forbid", frozen=True):
    """Access to a database through a connection."""

    action: Literal["connection.use"]
    connection: str


class RequiredName(BaseModel, extra="forbid", frozen=True):
    """An action on the resource of a full name; for `discover`, only whether the caller may discover it."""

    action: str
    object: ObjectNames
    procedure: str | None = None
    """The Iceberg procedure that requires the action on the table; `arguments` are the names of its arguments."""
    arguments: tuple[str, ...] = ()
    is_removed: bool = False
    """Whether the statement drops or renames the object: its success takes the privileges on the name away."""


class RequiredOperation(BaseModel, extra="forbid", frozen=True):
    """An operation on named objects; the access model states the actions that it needs."""

    operation: Literal[
        "resource.create", "resource.delete", "table.rename", "table.replace", "database.change_properties"
    ]
    on: dict[str, ObjectNames]
    type: Literal["lake", "database", "table", "view"]
    """The type of the object that the operation creates, deletes or changes."""

    @model_validator(mode="after")
    def _has_every_resource(self) -> Self:
        if self.on.keys() != set(list_places(self.operation)):
            raise ValueError("the resources are not those of the operation")
        return self


RequiredPrivilege = RequiredPath | RequiredConnection | RequiredName


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of one required privilege: the text for the caller, and the record for the audit."""

    message: str
    denial: Denial


class PrivilegeChecker:
    """Checks all privileges that a statement requires, in the organization of its lake."""

    def __init__(self, organization: Organization, external_access: ExternalAccess) -> None:
        self._organization = organization
        self._external_access = external_access

    @property
    def revision(self) -> int:
        """The revision of the facts that decisions use now."""
        return self._organization.control.snapshot.revision

    def name(self, caller: Caller) -> str:
        """Return the display name of the caller."""
        return self._organization.wording.caller(caller)

    def resource(self, need: RequiredPrivilege) -> ResourceId | None:
        """Return the resource that a required privilege names now, or None."""
        found = (
            find_by_name(self._organization.control.snapshot, need.object) if isinstance(need, RequiredName) else None
        )
        return found.id if found else None

    def full_name(self, resource: ResourceId) -> ObjectNames | None:
        """Return the full name of a resource now, or None if it was deleted."""
        facts = self._organization.control.snapshot
        return facts.full_name(resource) if resource in facts.resources else None

    def expand(self, needs: Iterable[RequiredPrivilege | RequiredOperation]) -> tuple[RequiredPrivilege, ...]:
        """Return the privileges with every operation replaced by the actions that it needs now."""
        return tuple(each for need in needs for each in self._expand(need))

    def _expand(self, need: RequiredPrivilege | RequiredOperation) -> Iterator[RequiredPrivilege]:
        if not isinstance(need, RequiredOperation):
            yield need
            return
        places = {place: OperationName(names, _type_of(place, need.type)) for place, names in need.on.items()}
        removed = need.on[list_places(need.operation)[0]] if need.operation in _REMOVING else None
        for each in self._organization.gate.list_needed_actions(need.operation, places, type=need.type):
            yield RequiredName(action=each.action, object=each.names, is_removed=each.names == removed)

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        """Return why the caller lacks one of the privileges now, or None. An invalid caller has no privileges."""
        return next((each.message for each in self._refusals(caller, needs)), None)

    def refusals(
        self, caller: Caller, needs: Sequence[RequiredPrivilege], most: int = MOST_REFUSALS
    ) -> tuple[Refusal, ...]:
        """Return a refusal for each privilege that the caller lacks now, at most `most`; empty if it has all."""
        return tuple(islice(self._refusals(caller, needs), most))

    def _refusals(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> Iterator[Refusal]:
        control, name = self._organization.control, self.name(caller)
        gone = caller_invalid(control.snapshot, caller, control.now)
        if gone:
            code = SUSPENDED if gone.code == SUSPENDED else UNAUTHENTICATED
            denial = Denial(code, *_name_need(needs[0])) if needs else Denial(code)
            yield Refusal(f"{name}: {denial_text(control.snapshot, gone)}", denial)
            return
        for need in needs:
            refused = self._find_refusal(caller, need)
            if refused is not None:
                yield Refusal(f"{name}: {refused.message}", refused.denial)

    def _find_refusal(self, caller: Caller, need: RequiredPrivilege) -> Refusal | None:
        if isinstance(need, RequiredPath):
            may = self._external_access.may_access(caller, need.action, need.path)
            return None if may else Refusal(_NO_PATH, Denial(REFUSED, *_name_need(need)))
        if isinstance(need, RequiredConnection):
            may = self._external_access.may_use(caller, need.connection)
            return None if may else Refusal(_NO_CONNECTION, Denial(REFUSED, *_name_need(need)))
        gate = self._organization.gate
        if need.procedure is not None and gate.may_run_procedure(caller, need.object, need.procedure, need.arguments):
            return None
        if need.action == "discover":
            verdict = gate.discover(caller, need.object)
        else:
            verdict = gate.check(caller, need.action, need.object)
        if verdict.allowed:
            return None
        return Refusal(verdict.message, verdict.denial or Denial(REFUSED, *_name_need(need)))


def _type_of(place: str, created: str) -> str:
    """Return the type of a resource of an operation by the operation's word for it, whatever its name looks like."""
    of = "table" if created == VIEW else created
    if place == "parent":
        return TYPES[TYPES.index(of) - 1]
    return of if place == "resource" else place


def _name_need(need: RequiredPrivilege) -> tuple[str, str]:
    """Return the action and the name of a required privilege. A path is left out, because it can contain a secret."""
    if isinstance(need, RequiredName):
        return need.action, ".".join(need.object)
    return need.action, need.connection if isinstance(need, RequiredConnection) else ""
