"""The catalog's endpoints over the core: who asks, what they may do by name, and the commands behind catalog writes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from headgate.control.catalog.tables import (
    PROPERTIES,
    ChangeProperties,
    CreateTable,
    CreateView,
    DropDatabase,
    DropTable,
    RegisterTable,
    RenameTable,
    is_view,
)
from headgate.control.identity.narrowed_callers import replay_scope
from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotEmptyError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.metadata import CommandMetadata, CommandOutcome
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, Pointer
from headgate.control.organizations.audit import Audit
from headgate.control.organizations.organization import Organization
from headgate.control.questions.by_name import Verdict
from headgate.control.resources.commands import CreateResource
from headgate.endpoints.iceberg_rest import ports
from headgate.endpoints.iceberg_rest.request import CATALOG_ENDPOINT, STORED_ANSWER
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId


class LakeGate:
    """Answers the REST catalog by name for one organization, and carries its commands out."""

    def __init__(self, organization: Organization, audit: Audit) -> None:
        self._organization = organization
        self._audit = audit
        self._control = organization.control
        self._gate = organization.gate
        self._store = organization.store

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may do this, and may know of the name."""
        return self._gate.check(caller, action, names)

    def serves(self, caller: Caller, names: Sequence[str]) -> bool:
        """Answer whether the caller is the run of a service of the table that leaves its rows as they are."""
        return self._gate.is_service_run(caller, names)

    def databases(self, caller: Caller, lake: ports.QualifiedName) -> Sequence[str]:
        """Return the names of the databases that the caller may discover, sorted."""
        return self._gate.visible(caller, lake)

    def tables(self, caller: Caller, database: ports.QualifiedName, *, views: bool) -> Sequence[str]:
        """Return the names of the tables, or of the views, that the caller may discover, sorted."""
        facts = self._control.snapshot
        found = facts.find(database)
        if found is None:
            return ()
        within = facts.children[found.id]
        visible = (name for name in self._gate.visible(caller, database) if name in within)
        return [name for name in visible if self._is_table(within[name]) and self.is_view(within[name]) is views]

    def is_view(self, resource: ResourceId) -> bool:
        """Return whether this is a view rather than a table."""
        found = self._control.snapshot.resources.get(resource)
        return found is not None and is_view(found)

    def properties(self, database: ResourceId) -> Mapping[str, str]:
        """Return the properties of a database."""
        return (self._store.document(PROPERTIES, database) or {}).get("properties", {})

    def replay_scope(self, caller: Caller) -> str:
        """Return whose repeated requests get the answer of the first one."""
        return replay_scope(self._control.snapshot, caller)

    def record_denial(self, caller: Caller, denial: Denial, request: str) -> None:
        """Record in the organization's audit that a request of the caller was denied."""
        self._audit.record_denial(self._organization, caller, denial, CATALOG_ENDPOINT, request)

    def kept(self, key: str) -> Mapping[str, Any] | None:
        """Return what was kept with a command under a client's key, or None."""
        return self._store.document(STORED_ANSWER, key)

    def create_database(
        self, caller: Caller, name: ports.QualifiedName, properties: Mapping[str, str], call: CommandMetadata
    ) -> None:
        """Make a database."""
        lake, id = self._known(caller, name[:1]), ResourceId(new_id("d"))
        kept = (DocumentPut(PROPERTIES, id, {"properties": dict(properties)}),) if properties else ()
        self._execute(CreateResource(id, "database", lake, name[1]), caller, name, call.with_documents(kept))

    def change_properties(
        self,
        caller: Caller,
        database: ResourceId,
        updates: Mapping[str, str],
        removals: Sequence[str],
        call: CommandMetadata,
    ) -> None:
        """Set and remove properties of a database."""

        def kept(outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
            # Read where it is written, so that of two changes at once neither is lost.
            gone = set(removals)
            now = {key: value for key, value in self.properties(database).items() if key not in gone}
            put = DocumentPut(PROPERTIES, database, {"properties": {**now, **updates}})
            return (*call.keeps(outcome), put)

        self._execute(ChangeProperties(database), caller, (database,), replace(call, keeps=kept))

    def drop_database(self, caller: Caller, name: ports.QualifiedName, call: CommandMetadata) -> None:
        """Remove an empty database."""
        self._execute(DropDatabase(self._known(caller, name)), caller, name, call)

    def create_table(self, caller: Caller, name: ports.QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        """Make a table and its pointer in one transaction."""
        command = CreateTable(self._known(caller, name[:-1]), pointer.table, name[-1], pointer)
        self._execute(command, caller, name, call)

    def register_table(
        self, caller: Caller, name: ports.QualifiedName, pointer: Pointer, call: CommandMetadata
    ) -> None:
        """Make a table of metadata that is there, with its pointer in one transaction."""
        command = RegisterTable(self._known(caller, name[:-1]), pointer.table, name[-1], pointer)
        self._execute(command, caller, name, call)

    def create_view(self, caller: Caller, name: ports.QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        """Make a view and its pointer in one transaction."""
        command = CreateView(self._known(caller, name[:-1]), pointer.table, name[-1], pointer)
        self._execute(command, caller, name, call)

    def rename_table(self, caller: Caller, table: ResourceId, name: ports.QualifiedName, call: CommandMetadata) -> None:
        """Give a table or view another name, perhaps in another database."""
        command = RenameTable(table, self._known(caller, name[:-1]), name[-1])
        self._execute(command, caller, name, call)

    def drop_table(self, caller: Caller, table: ResourceId, call: CommandMetadata) -> None:
        """Remove a table or view and its pointer in one transaction."""
        self._execute(DropTable(table), caller, (table,), call)

    def _is_table(self, resource: ResourceId) -> bool:
        return self._control.snapshot.resources[resource].type == "table"

    def _known(self, caller: Caller, names: Sequence[str]) -> ResourceId:
        verdict = self._gate.discover(caller, names)
        if verdict.resource is None:
            raise ports.AccessDeniedError(self._gate.missing(names))
        return verdict.resource

    def _execute(self, command: Command, caller: Caller, names: Sequence[str], call: CommandMetadata) -> None:
        with self._refusals(names):
            try:
                self._control.execute(command, caller, call)
            except AlreadyExistsError as error:
                if error.is_hidden:
                    self._record_taken(command, caller, names, call)
                raise

    def _record_taken(self, command: Command, caller: Caller, names: Sequence[str], call: CommandMetadata) -> None:
        """Keep in the audit that the caller heard of a hidden name: one that looks for such names is seen there."""
        facts = self._control.snapshot
        place = facts.find(names[:-1])
        denial = Denial("taken", command.name, place.id if place else "")
        self.record_denial(caller, denial, call.origin.request)

    @contextmanager
    def _refusals(self, names: Sequence[str]) -> Iterator[None]:
        try:
            yield
        except PermissionDeniedError as error:
            facts, question = self._control.snapshot, error.question
            known = facts.full_name(question.resource) if question.resource in facts.resources else tuple(names)
            raise ports.AccessDeniedError(self._gate.refusal(known, question, error.explanation)) from None
        except AlreadyExistsError as error:
            raise ports.NameTakenError(str(error)) from None
        except NotFoundError:
            raise ports.AccessDeniedError(self._gate.missing(names)) from None
        except NotEmptyError as error:
            raise ports.NamespaceNotEmptyError(str(error)) from None
        except DocumentConflictError:
            raise ports.UnderWayError("this request is being carried out; send it again for its answer") from None
        except InvalidError as error:
            raise ports.AccessDeniedError(self._said(str(error))) from None

    def _said(self, message: str) -> Verdict:
        return Verdict(allowed=False, discoverable=True, revision=self._control.snapshot.revision, message=message)
