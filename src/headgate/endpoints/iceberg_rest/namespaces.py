"""Namespaces, which are databases: list, create, load, change properties, drop."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.control.catalog.tables import PROPERTIES, ChangeProperties, DropDatabase
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.metadata import CommandMetadata, CommandOutcome
from headgate.control.kernel.ports import DocumentPut
from headgate.control.questions.operation_names import OperationName
from headgate.control.resources.commands import CreateResource
from headgate.endpoints.iceberg_rest.commands import execute_command
from headgate.endpoints.iceberg_rest.errors import SpecError, bad_request, no_such_namespace
from headgate.endpoints.iceberg_rest.messages import ChangePropertiesBody, CreateNamespace, parse_catalog_message
from headgate.endpoints.iceberg_rest.names import QualifiedName, joined_name
from headgate.endpoints.iceberg_rest.request import CatalogRequest, retry_once
from headgate.endpoints.iceberg_rest.responses import page_of_names
from headgate.facts.ids import ResourceId
from headgate.lake.commit_limits import check_property_sizes
from headgate.lake.metadata_rules import check_properties

_OWNER = "owner"
"""Spark sends this property with every new database; Headgate stores the creator of a database as a fact instead."""


def list_namespaces(asking: CatalogRequest, parent: str, token: str | None, size: str | None) -> dict[str, Any]:
    """Return the databases that the caller may discover. A database has no namespaces below it."""
    lake = asking.lake.name
    if parent:
        asking.known_database((lake, parent))
        return {"namespaces": []}
    names, more = page_of_names(asking.organization.gate.visible(asking.caller, (lake,)), token, size)
    return {"namespaces": [[name] for name in names], **more}


@retry_once
def create_namespace(asking: CatalogRequest) -> dict[str, Any]:
    """Create a database. Needs `lake.create_database`."""
    message = parse_catalog_message(CreateNamespace, asking.body)
    properties = {key: value for key, value in message.properties.items() if key != _OWNER}
    check_properties(properties)
    check_property_sizes({}, properties)
    lake = asking.lake.name
    answer = {"namespace": list(message.namespace), "properties": properties}
    asking.require_operation("resource.create", {"parent": OperationName((lake,), "lake")}, type="database")
    if asking.replayed() is not None:
        return answer
    _create(asking, (lake, *message.namespace), properties)
    return answer


def load_namespace(asking: CatalogRequest) -> dict[str, Any]:
    """Return a database that the caller may discover."""
    name = asking.database()
    database = asking.known_database(name)
    return {"namespace": list(name[1:]), "properties": dict(_properties(asking, database))}


@retry_once
def change_properties(asking: CatalogRequest) -> dict[str, Any]:
    """Set and remove properties of a database. Needs `database.alter`."""
    name = asking.database()
    message = parse_catalog_message(ChangePropertiesBody, asking.body)
    database = asking.require_operation("database.change_properties", {"database": OperationName(name, "database")})
    if both := sorted(message.updates.keys() & set(message.removals)):
        raise SpecError(
            422,
            "UnprocessableEntityException",
            f"`{both[0]}` is in `updates` and in `removals`; send it in one of them",
        )
    check_properties(message.updates)
    if _OWNER in message.updates:
        raise bad_request("`owner` cannot be set as a property; request access to the database, or assign a role on it")
    before = asking.replayed()
    if before is not None:
        return dict(before)
    properties = _properties(asking, database)
    made = _changed(properties, message)
    removed = set(made["removed"])
    kept = {key: value for key, value in properties.items() if key not in removed}
    check_property_sizes(properties, {**kept, **message.updates})
    call = _keeping(asking, database, message, asking.command_metadata(**made))
    execute_command(asking, ChangeProperties(database), (database,), call, no_such_namespace(joined_name(name)))
    return made


@retry_once
def drop_namespace(asking: CatalogRequest) -> None:
    """Drop an empty database. Needs `database.drop`."""
    name = asking.database()
    if asking.replayed() is not None:
        return
    asking.known_database(name)
    asking.require_operation("resource.delete", {"resource": OperationName(name, "database")}, type="database")
    missing = no_such_namespace(joined_name(name))
    command = DropDatabase(asking.require_discoverable(name, missing))
    execute_command(asking, command, name, asking.command_metadata(), missing)


def list_tables(asking: CatalogRequest, token: str | None, size: str | None, *, views: bool) -> dict[str, Any]:
    """Return the tables, or the views, of a database that the caller may discover."""
    name = asking.database()
    asking.known_database(name)
    names, more = page_of_names(_tables(asking, name, views=views), token, size)
    return {"identifiers": [{"namespace": list(name[1:]), "name": each} for each in names], **more}


def _create(asking: CatalogRequest, name: QualifiedName, properties: Mapping[str, str]) -> None:
    missing = no_such_namespace(name[0])
    lake, id = asking.require_discoverable(name[:1], missing), ResourceId(new_id("d"))
    kept = (DocumentPut(PROPERTIES, id, {"properties": dict(properties)}),) if properties else ()
    call = asking.command_metadata().with_documents(kept)
    execute_command(asking, CreateResource(id, "database", lake, name[1]), name, call, missing)


def _properties(asking: CatalogRequest, database: ResourceId) -> Mapping[str, str]:
    return (asking.organization.store.document(PROPERTIES, database) or {}).get("properties", {})


def _keeping(
    asking: CatalogRequest, database: ResourceId, message: ChangePropertiesBody, call: CommandMetadata
) -> CommandMetadata:
    """Return command metadata that also writes the changed properties of a database."""

    def keeps(outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
        # The properties are read again at the write, so that of two concurrent changes neither is lost.
        gone = set(message.removals)
        now = {key: value for key, value in _properties(asking, database).items() if key not in gone}
        return (*call.keeps(outcome), DocumentPut(PROPERTIES, database, {"properties": {**now, **message.updates}}))

    return replace(call, keeps=keeps)


def _tables(asking: CatalogRequest, database: QualifiedName, *, views: bool) -> Sequence[str]:
    """Return the names of the tables, or of the views, that the caller may discover, sorted."""
    facts = asking.organization.control.snapshot
    found = facts.find(database)
    if found is None:
        return ()
    within = facts.children[found.id]
    visible = (name for name in asking.organization.gate.visible(asking.caller, database) if name in within)
    tables = (name for name in visible if facts.resources[within[name]].type == "table")
    return [name for name in tables if asking.is_view(within[name]) is views]


def _changed(before: Mapping[str, str], message: ChangePropertiesBody) -> dict[str, Any]:
    removed = [key for key in dict.fromkeys(message.removals) if key in before]
    missing = [key for key in dict.fromkeys(message.removals) if key not in before]
    return {"updated": list(message.updates), "removed": removed, "missing": missing}
