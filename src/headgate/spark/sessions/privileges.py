"""What a statement needs, as the guard says it, and the one answer to all of that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final, Literal, Protocol

from pydantic import BaseModel, Field

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.audit_records import REFUSED, SUSPENDED, UNAUTHENTICATED, Denial
from headgate.control.kernel.names import find_by_name
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import denial_text
from headgate.decision.caller_validity import caller_invalid
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

ObjectNames = Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]


class ExternalAccess(Protocol):
    """What lies outside the lake, as far as callers may touch it: runs may, by what their pipelines declare."""

    def may_access(self, caller: Caller, action: str, path: str, /) -> bool:
        """Tell whether somebody may do something (`path.read`) with a path."""
        ...

    def may_use(self, caller: Caller, connection: str, /) -> bool:
        """Tell whether somebody may use the connection that their pipeline declares by this name."""
        ...

    def jdbc_access(self, caller: Caller, connection: str, /) -> JdbcAccess:
        """Return how the database behind such a connection is entered. Raises `JdbcAccessError`."""
        ...


MOST_REFUSALS: Final = 20
"""The audit records this many refused needs of one statement: to decide on a refused one takes longer than on others."""
_NO_CONNECTION: Final = "a connection is used by a run of a pipeline that declares it, and in no other way"
_NO_PATH: Final = (
    "files are read and written through a connection that a running pipeline declares, and in no other way"
)


class RequiredPath(BaseModel, extra="forbid", frozen=True):
    """A file or folder that is touched through a connection, or by a stream that keeps its progress there."""

    action: Literal["path.read", "path.write", "path.checkpoint"]
    path: str


class RequiredConnection(BaseModel, extra="forbid", frozen=True):
    """A database that is reached through a connection."""

    action: Literal["connection.use"]
    connection: str


class RequiredName(BaseModel, extra="forbid", frozen=True):
    """An action on a full name; `discover` asks only whether the caller may know it."""

    action: str
    object: ObjectNames
    procedure: str | None = None
    """The procedure of Iceberg's whose work on the table needs the action; with `arguments`, by name."""
    arguments: tuple[str, ...] = ()


RequiredPrivilege = RequiredPath | RequiredConnection | RequiredName


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a caller may not have one thing that a statement needs: the text for the caller, and what the audit records."""

    message: str
    denial: Denial


class PrivilegeChecker:
    """Asks about everything that a statement needs, of the organization whose lake it runs on."""

    def __init__(self, organization: Organization, external_access: ExternalAccess) -> None:
        self._organization = organization
        self._external_access = external_access

    @property
    def revision(self) -> int:
        """The revision that is answered by now."""
        return self._organization.control.snapshot.revision

    def name(self, caller: Caller) -> str:
        """Return what people call who asks."""
        return self._organization.wording.caller(caller)

    def resource(self, need: RequiredPrivilege) -> ResourceId | None:
        """Return the resource that a need names now, or None."""
        found = (
            find_by_name(self._organization.control.snapshot, need.object) if isinstance(need, RequiredName) else None
        )
        return found.id if found else None

    def full_name(self, resource: ResourceId) -> ObjectNames | None:
        """Return the full name of a resource now, or None if it is gone."""
        facts = self._organization.control.snapshot
        return facts.full_name(resource) if resource in facts.resources else None

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        """Return why the caller may not have all of this now, or None. Who is nobody any more may have nothing."""
        return next((each.message for each in self._refusals(caller, needs)), None)

    def refusals(
        self, caller: Caller, needs: Sequence[RequiredPrivilege], most: int = MOST_REFUSALS
    ) -> tuple[Refusal, ...]:
        """Return a refusal for each need that the caller may not have now, `most` of them; none if it may have all."""
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


def _name_need(need: RequiredPrivilege) -> tuple[str, str]:
    """Return the action of a need and the name that it is about. A path is left out: it can hold a secret."""
    if isinstance(need, RequiredName):
        return need.action, ".".join(need.object)
    return need.action, need.connection if isinstance(need, RequiredConnection) else ""
