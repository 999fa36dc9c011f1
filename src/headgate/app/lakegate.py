"""The catalog's doors over the core: who asks, what they may do by name, and the commands behind catalog writes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from headgate.control.command import Command, InvalidError, MissingError, NotEmptyError, RefusedError, TakenError
from headgate.control.control import Control
from headgate.control.gate import Gate, Verdict
from headgate.control.identity import Identity
from headgate.control.ids import new_id
from headgate.control.organization import Organization
from headgate.control.ports import Pointer
from headgate.control.resources import CreateResource
from headgate.control.tables import CreateTable, DropDatabase, DropTable, RenameTable
from headgate.doors.iceberg_rest import ports
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.driver_calls import SIGNATURE_HEADER, DriverCalls

_BEARER = "Bearer "


class LakeGate:
    """Answers the REST catalog by name, and carries its commands out."""

    def __init__(self, control: Control, gate: Gate) -> None:
        self._control = control
        self._gate = gate

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may do this, and may know of the name."""
        return self._gate.check(caller, action, names)

    def visible(self, caller: Caller, names: Sequence[str]) -> Sequence[str]:
        """Return the names below this one that the caller may discover."""
        return self._gate.visible(caller, names)

    def create_database(self, caller: Caller, name: ports.Name) -> None:
        """Make a database."""
        lake = self._known(caller, name[:1])
        self._execute(CreateResource(ResourceId(new_id("d")), "database", lake, name[1]), caller, name)

    def drop_database(self, caller: Caller, name: ports.Name) -> None:
        """Remove an empty database."""
        self._execute(DropDatabase(self._known(caller, name)), caller, name)

    def create_table(
        self, caller: Caller, database: ports.Name, name: str, table: ResourceId, pointer: Pointer
    ) -> None:
        """Make a table and its pointer in one transaction."""
        command = CreateTable(self._known(caller, database), table, name, pointer)
        self._execute(command, caller, (*database, name))

    def rename_table(self, caller: Caller, table: ResourceId, database: ports.Name, name: str) -> None:
        """Give a table another name, perhaps in another database."""
        command = RenameTable(table, self._known(caller, database), name)
        self._execute(command, caller, (*database, name))

    def drop_table(self, caller: Caller, table: ResourceId) -> None:
        """Remove a table and its pointer in one transaction."""
        self._execute(DropTable(table), caller, (table,))

    def _known(self, caller: Caller, names: Sequence[str]) -> ResourceId:
        verdict = self._gate.discover(caller, names)
        if verdict.resource is None:
            raise ports.RefusedError(self._gate.missing(names))
        return verdict.resource

    def _execute(self, command: Command, caller: Caller, names: Sequence[str]) -> None:
        with self._refusals(names):
            self._control.execute(command, caller)

    @contextmanager
    def _refusals(self, names: Sequence[str]) -> Iterator[None]:
        try:
            yield
        except RefusedError as error:
            facts, question = self._control.snapshot, error.question
            known = facts.full_name(question.resource) if question.resource in facts.resources else tuple(names)
            raise ports.RefusedError(self._gate.refusal(known, question, error.explanation)) from None
        except TakenError as error:
            raise ports.NameTakenError(str(error)) from None
        except MissingError:
            raise ports.RefusedError(self._gate.missing(names)) from None
        except NotEmptyError as error:
            raise ports.NotEmptyError(str(error)) from None
        except InvalidError as error:
            raise ports.RefusedError(self._said(str(error))) from None

    def _said(self, message: str) -> Verdict:
        return Verdict(allowed=False, discoverable=True, revision=self._control.snapshot.revision, message=message)


def identifier(identity: Identity, home: Organization, calls: DriverCalls) -> ports.Identify:
    """Return who sends a catalog request: the driver for one of its sessions, or the holder of a token."""

    def identify(method: str, target: str, headers: Mapping[str, str], body: bytes) -> ports.Identified | None:
        if SIGNATURE_HEADER in headers:
            caller = calls.caller(method, target, headers, body)
            return ports.Identified(caller, guarded=True) if caller else None
        presented = headers.get("authorization", "")
        found = identity.authenticate(presented.removeprefix(_BEARER)) if presented.startswith(_BEARER) else None
        caller = home.caller(found) if found else None
        # A run's identity exists for statements that the guard has seen, and comes here through the driver only.
        return ports.Identified(caller, guarded=False) if caller and caller.run is None else None

    return identify
