"""What a statement needs, as the guard says it, and the one answer to all of that."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from headgate.control.connections import Entrance
from headgate.control.names import named
from headgate.control.organization import Organization
from headgate.control.wording import reason
from headgate.decision.asked import not_standing
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]


class Reach(Protocol):
    """What lies outside the lake, as far as callers may touch it: runs may, by what their pipelines declare."""

    def may_touch(self, caller: Caller, action: str, path: str, /) -> bool:
        """Tell whether somebody may do something (`path.read`) with a path."""
        ...

    def may_use(self, caller: Caller, connection: str, /) -> bool:
        """Tell whether somebody may use the connection that their pipeline declares by this name."""
        ...

    def entrance(self, caller: Caller, connection: str, /) -> Entrance:
        """Return how the database behind such a connection is entered. Raises `NoEntranceError`."""
        ...


_NO_CONNECTION: Final = "a connection is used by a run of a pipeline that declares it, and in no other way"
_NO_PATH: Final = (
    "files are read and written through a connection that a running pipeline declares, and in no other way"
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathNeed(_Strict):
    """A file or folder that is touched through a connection, or by a stream that keeps its progress there."""

    action: Literal["path.read", "path.write", "path.checkpoint"]
    path: str


class ConnectionNeed(_Strict):
    """A database that is reached through a connection."""

    action: Literal["connection.use"]
    connection: str


class NameNeed(_Strict):
    """An action on a full name; `discover` asks only whether the caller may know it."""

    action: str
    object: Names
    procedure: str | None = None
    """The procedure of Iceberg's whose work on the table needs the action; with `arguments`, by name."""
    arguments: tuple[str, ...] = ()


Need = PathNeed | ConnectionNeed | NameNeed


class Judge:
    """Asks about everything that a statement needs, of the organization whose lake it runs on."""

    def __init__(self, organization: Organization, reach: Reach) -> None:
        self._organization = organization
        self._reach = reach

    @property
    def revision(self) -> int:
        """The revision that is answered by now."""
        return self._organization.control.snapshot.revision

    def name(self, caller: Caller) -> str:
        """Return what people call who asks."""
        return self._organization.wording.caller(caller)

    def resource(self, need: Need) -> ResourceId | None:
        """Return the resource that a need names now, or None."""
        found = named(self._organization.control.snapshot, need.object) if isinstance(need, NameNeed) else None
        return found.id if found else None

    def refusal(self, caller: Caller, needs: Sequence[Need]) -> str | None:
        """Return why the caller may not have all of this now, or None. Who is nobody any more may have nothing."""
        control = self._organization.control
        gone = not_standing(control.snapshot, caller, control.now)
        why = reason(control.snapshot, gone) if gone else self._first(caller, needs)
        return f"{self.name(caller)}: {why}" if why else None

    def _first(self, caller: Caller, needs: Sequence[Need]) -> str | None:
        return next((text for need in needs if (text := self._refused(caller, need))), None)

    def _refused(self, caller: Caller, need: Need) -> str | None:
        if isinstance(need, PathNeed):
            return None if self._reach.may_touch(caller, need.action, need.path) else _NO_PATH
        if isinstance(need, ConnectionNeed):
            return None if self._reach.may_use(caller, need.connection) else _NO_CONNECTION
        gate = self._organization.gate
        if need.procedure is not None and gate.may_serve(caller, need.object, need.procedure, need.arguments):
            return None
        if need.action == "discover":
            verdict = gate.discover(caller, need.object)
        else:
            verdict = gate.check(caller, need.action, need.object)
        return None if verdict.allowed else verdict.message
