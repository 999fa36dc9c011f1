"""Tables: create (at once or staged), register, load, rename, drop. Each operation is decided before it is executed."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Response

from headgate.control.catalog.tables import CreateTable, DropTable, RegisterTable, RenameTable
from headgate.control.questions.operation_names import OperationName
from headgate.endpoints.iceberg_rest.commands import execute_command
from headgate.endpoints.iceberg_rest.errors import (
    SpecError,
    bad_request,
    hidden_error,
    no_such_namespace,
    no_such_table,
)
from headgate.endpoints.iceberg_rest.messages import (
    CreateTableBody,
    MetricsReport,
    RegisterTableBody,
    RenameBody,
    parse_catalog_message,
)
from headgate.endpoints.iceberg_rest.names import QualifiedName, joined_name, qualified_name
from headgate.endpoints.iceberg_rest.request import CatalogRequest, no_such, retry_once
from headgate.endpoints.iceberg_rest.responses import (
    NOT_MODIFIED,
    SNAPSHOTS,
    is_current,
    metadata_etag,
    staged_response,
    table_answer,
)
from headgate.facts.ids import ResourceId
from headgate.lake.errors import RuleError
from headgate.lake.metadata_files import LoadedTable


@dataclass(frozen=True, slots=True)
class Dropped:
    """The work left after a drop: none, or the deletion of the files (`purge`)."""

    purge: Callable[[], None] | None = None


def load_table(asking: CatalogRequest, snapshots: str, if_none_match: str | None) -> Response:
    """Return a table's metadata, or status 304 if the client already has it."""
    if snapshots not in SNAPSHOTS:
        raise bad_request("`snapshots` is neither `all` nor `refs`; send one of them")
    guarded, tables = asking.who.guarded, asking.lake.tables
    file = tables.find(require_loadable(asking, asking.table()))
    current = metadata_etag(file.pointer.metadata_location, guarded=guarded, snapshots=snapshots)
    if is_current(if_none_match, current):
        return Response(status_code=NOT_MODIFIED, headers={"etag": current})
    return table_answer(tables.read(file), guarded=guarded, snapshots=snapshots)


def loaded_table(asking: CatalogRequest, name: QualifiedName) -> LoadedTable:
    """Return a table's metadata, which needs what `require_loadable` says."""
    return asking.lake.tables.load(require_loadable(asking, name))


def require_loadable(asking: CatalogRequest, name: QualifiedName) -> ResourceId:
    """Return the table if the caller may read its metadata.

    The metadata names the files, so it needs `table.select`. In a guarded session the guard decides the statement, and
    a caller that may discover the table gets the metadata.
    """
    if asking.who.guarded:
        return asking.require_visible(name)
    return asking.require_operation("table.load", {"table": OperationName(name, "table")})


def table_exists(asking: CatalogRequest) -> None:
    """Raise `SpecError` 404 unless the table exists and the caller may discover it."""
    asking.require_visible(asking.table())


def table_credentials(asking: CatalogRequest) -> dict[str, list[object]]:
    """Return the storage credentials of a table: an empty list. Needs what a load needs."""
    loaded_table(asking, asking.table())
    return {"storage-credentials": []}


def report_metrics(asking: CatalogRequest) -> None:
    """Accept a client's metrics report. Nothing of it is stored."""
    name = asking.table()
    parse_catalog_message(MetricsReport, asking.body)
    asking.require_visible(name)


@retry_once
def create_table(asking: CatalogRequest) -> Response:
    """Create a table, or only its metadata if it is staged. Needs `database.create_table`."""
    database = asking.database()
    message = parse_catalog_message(CreateTableBody, asking.body)
    if message.location is not None:
        raise RuleError("`location` cannot be set: Headgate chooses the location of a table; leave `location` out")
    parent = asking.require_to_create("table", database)
    tables, guarded, name = asking.lake.tables, asking.who.guarded, (*database, message.name)
    if message.stage_create:
        metadata = tables.stage(asking.caller.principal, message.new_table(), parent, message.name)
        return staged_response(metadata, guarded=guarded)
    made = replayed_create(asking, name)
    if made is None:
        written = tables.create(message.new_table(), parent)
        store_created(asking, name, written)
        return table_answer(written, guarded=guarded)
    return table_answer(load_made(asking, name, made), guarded=guarded)


@retry_once
def register_table(asking: CatalogRequest) -> Response:
    """Create a table from a metadata file in the warehouse. Needs `lake.register_table` and `database.create_table`."""
    database = asking.database()
    message = parse_catalog_message(RegisterTableBody, asking.body)
    asking.require_operation("table.register", {"lake": OperationName(database[:1], "lake")})
    asking.require_to_create("table", database)
    if message.overwrite:
        raise bad_request("`overwrite` is not supported; drop the existing table first, and leave `overwrite` out")
    name = (*database, message.name)
    made = replayed_create(asking, name)
    if made is not None:
        return table_answer(load_made(asking, name, made), guarded=asking.who.guarded)
    found = asking.lake.tables.register(message.metadata_location)
    missing, pointer = no_such_namespace(joined_name(database)), found.pointer
    command = RegisterTable(asking.require_discoverable(database, missing), pointer.table, name[-1], pointer)
    execute_command(asking, command, name, asking.command_metadata(made=pointer.table), missing)
    return table_answer(found, guarded=asking.who.guarded)


@retry_once
def rename(asking: CatalogRequest, *, view: bool = False) -> None:
    """Rename or move a table or view.

    Needs `table.alter` and `table.drop` on it, and `database.create_table` or `database.create_view` on the target database.
    """
    message = parse_catalog_message(RenameBody, asking.body)
    lake = asking.lake.name
    source = qualified_name(lake, message.source.namespace, message.source.name)
    if source is None:
        raise no_such(".".join((*message.source.namespace, message.source.name)), view=view)
    if asking.replayed() is not None:
        return
    database = (lake, *message.destination.namespace)
    places = {"table": OperationName(source, "table"), "database": OperationName(database, "database")}
    table = asking.require_operation("table.rename", places, type="view" if view else "table")
    missing, name = no_such(joined_name(source), view=view), message.destination.name
    command = RenameTable(table, asking.require_discoverable(database, missing), name)
    execute_command(asking, command, (*database, name), asking.command_metadata(), missing)


@retry_once
def drop_table(asking: CatalogRequest, *, purge: bool) -> Dropped:
    """Drop a table. Needs `table.drop`."""
    name = asking.table()
    if asking.replayed() is not None:
        return Dropped()
    table = asking.require_operation("resource.delete", {"resource": OperationName(name, "table")})
    loaded = asking.lake.tables.load(table) if purge else None
    if loaded is not None:
        asking.lake.tables.check_purge(loaded)
    execute_command(asking, DropTable(table), (table,), asking.command_metadata(), no_such_table(joined_name(name)))
    return Dropped(None if loaded is None else lambda: asking.lake.tables.purge(loaded))


def store_created(asking: CatalogRequest, name: QualifiedName, written: LoadedTable) -> None:
    """Create the table whose first metadata file was written; if that is refused, delete the file and raise the refusal."""
    missing, pointer = no_such_namespace(joined_name(name[:-1])), written.pointer
    call = asking.command_metadata(made=pointer.table).with_documents(
        asking.lake.tables.run_note(asking.caller.run, None, written.metadata)
    )
    try:
        database = asking.require_discoverable(name[:-1], missing)
        execute_command(asking, CreateTable(database, pointer.table, name[-1], pointer), name, call, missing)
    except SpecError:
        # A file that cannot be deleted does no harm; the refusal and its audit record are more important.
        with suppress(OSError):
            asking.lake.tables.delete_orphan(written)
        raise


def replayed_create(asking: CatalogRequest, name: QualifiedName, *, view: bool = False) -> ResourceId | None:
    """Return the table or view that the same request created before, None for a new request.

    Raises `SpecError` 404 if it no longer has the name.
    """
    before = asking.replayed()
    if before is None:
        return None
    verdict = asking.organization.gate.check(asking.caller, "table.describe", name)
    if verdict.resource is None or verdict.resource != before.get("made"):
        raise hidden_error(verdict, no_such(joined_name(name), view=view))
    return verdict.resource


def load_made(asking: CatalogRequest, name: QualifiedName, made: ResourceId) -> LoadedTable:
    """Return the metadata of a table that an earlier request of the caller created.

    The table may have changed since, so the caller needs the privileges of a load.
    """
    loaded = loaded_table(asking, name)
    if loaded.pointer.table != made:
        raise no_such_table(joined_name(name))
    return loaded
