"""Namespaces are databases: list, create, look up, change their properties, drop."""

from collections.abc import Mapping
from typing import Any

from headgate.endpoints.iceberg_rest.errors import SpecError, bad_request, joined_name, no_such_namespace, refusal_error
from headgate.endpoints.iceberg_rest.messages import ChangePropertiesBody, CreateNamespace, parsed
from headgate.endpoints.iceberg_rest.ports import AccessDeniedError
from headgate.endpoints.iceberg_rest.request import CatalogRequest, repeatable
from headgate.endpoints.iceberg_rest.responses import page_of_names
from headgate.lake.bounds import check_property_sizes
from headgate.lake.metadata_rules import check_properties

_OWNER = "owner"
"""Spark always sends it with a new one; who made a database is a fact of its own."""


def list_namespaces(asking: CatalogRequest, parent: str, token: str | None, size: str | None) -> dict[str, Any]:
    """Return the databases that the caller may discover. Nothing lies below one."""
    lake = asking.lake.name
    if parent:
        asking.known_database((lake, parent))
        return {"namespaces": []}
    names, more = page_of_names(asking.gate.databases(asking.caller, (lake,)), token, size)
    return {"namespaces": [[name] for name in names], **more}


@repeatable
def create_namespace(asking: CatalogRequest) -> dict[str, Any]:
    """Make a database. Needs `lake.create_database`."""
    message = parsed(CreateNamespace, asking.body)
    properties = {key: value for key, value in message.properties.items() if key != _OWNER}
    check_properties(properties)
    check_property_sizes({}, properties)
    lake = asking.lake.name
    answer = {"namespace": list(message.namespace), "properties": properties}
    asking.require_in((lake,), "lake.create_database")
    if asking.replayed() is not None:
        return answer
    try:
        asking.gate.create_database(asking.caller, (lake, *message.namespace), properties, asking.command_metadata())
    except AccessDeniedError as error:
        raise refusal_error(error.verdict, no_such_namespace(lake)) from error
    return answer


def load_namespace(asking: CatalogRequest) -> dict[str, Any]:
    """Return a database that the caller may discover."""
    name = asking.database()
    database = asking.known_database(name)
    return {"namespace": list(name[1:]), "properties": dict(asking.gate.properties(database))}


@repeatable
def change_properties(asking: CatalogRequest) -> dict[str, Any]:
    """Set and remove properties of a database. Needs `database.alter`."""
    name = asking.database()
    message = parsed(ChangePropertiesBody, asking.body)
    database = asking.require_in(name, "database.alter")
    if both := sorted(message.updates.keys() & set(message.removals)):
        raise SpecError(422, "UnprocessableEntityException", f"`{both[0]}` cannot be set and removed at once")
    check_properties(message.updates)
    if _OWNER in message.updates:
        raise bad_request("who made a database is not a property; ask for access, or give it, instead")
    before = asking.replayed()
    if before is not None:
        return dict(before)
    properties = asking.gate.properties(database)
    made = _changed(properties, message)
    removed = set(made["removed"])
    kept = {key: value for key, value in properties.items() if key not in removed}
    check_property_sizes(properties, {**kept, **message.updates})
    try:
        asking.gate.change_properties(
            asking.caller, database, message.updates, message.removals, asking.command_metadata(**made)
        )
    except AccessDeniedError as error:
        raise refusal_error(error.verdict, no_such_namespace(joined_name(name))) from error
    return made


@repeatable
def drop_namespace(asking: CatalogRequest) -> None:
    """Remove an empty database. Needs `database.drop`."""
    name = asking.database()
    if asking.replayed() is not None:
        return
    asking.known_database(name)
    asking.require_in(name, "database.drop")
    try:
        asking.gate.drop_database(asking.caller, name, asking.command_metadata())
    except AccessDeniedError as error:
        raise refusal_error(error.verdict, no_such_namespace(joined_name(name))) from error


def list_tables(asking: CatalogRequest, token: str | None, size: str | None, *, views: bool) -> dict[str, Any]:
    """Return the tables, or the views, of a database that the caller may discover."""
    name = asking.database()
    asking.known_database(name)
    names, more = page_of_names(asking.gate.tables(asking.caller, name, views=views), token, size)
    return {"identifiers": [{"namespace": list(name[1:]), "name": each} for each in names], **more}


def _changed(before: Mapping[str, str], message: ChangePropertiesBody) -> dict[str, Any]:
    removed = [key for key in dict.fromkeys(message.removals) if key in before]
    missing = [key for key in dict.fromkeys(message.removals) if key not in before]
    return {"updated": list(message.updates), "removed": removed, "missing": missing}
