"""Views: create, load, replace, drop. A view grants nothing: a user who reads it needs privileges on all it reads."""

from contextlib import suppress

from fastapi import Response

from headgate.control.catalog.tables import CreateView, DropTable
from headgate.control.questions.operation_names import OperationName
from headgate.endpoints.iceberg_rest.commands import execute_command
from headgate.endpoints.iceberg_rest.errors import SpecError, bad_request, no_such_namespace, no_such_view
from headgate.endpoints.iceberg_rest.messages import CommitView, CreateViewBody, parse_catalog_message
from headgate.endpoints.iceberg_rest.names import QualifiedName, joined_name, qualified_name
from headgate.endpoints.iceberg_rest.request import CatalogRequest, retry_once
from headgate.endpoints.iceberg_rest.responses import view_answer
from headgate.endpoints.iceberg_rest.tables import replayed_create
from headgate.facts.ids import ResourceId
from headgate.lake.errors import RuleError
from headgate.lake.view_catalog import LoadedView


def load_view(asking: CatalogRequest) -> Response:
    """Return a view's metadata."""
    return view_answer(_loaded(asking, asking.table(view=True)))


def view_exists(asking: CatalogRequest) -> None:
    """Raise `SpecError` 404 unless the view exists and the caller may discover it."""
    asking.require_visible(asking.table(view=True), view=True)


@retry_once
def create_view(asking: CatalogRequest) -> Response:
    """Create a view. Needs `database.create_view`."""
    database = asking.database()
    message = parse_catalog_message(CreateViewBody, asking.body)
    if message.location is not None:
        raise RuleError("`location` cannot be set: Headgate chooses the location of a view; leave `location` out")
    parent = asking.require_to_create("view", database)
    name = (*database, message.name)
    made = replayed_create(asking, name, view=True)
    if made is not None:
        return view_answer(_load_made(asking, name, made))
    written = asking.lake.views.create(message.new_view(), parent)
    _store_created(asking, name, written)
    return view_answer(written)


@retry_once
def commit_view(asking: CatalogRequest) -> Response:
    """Apply a commit. Needs `table.alter`, or `table.drop` and `database.create_view`: replacing the view has the same effect."""
    message = parse_catalog_message(CommitView, asking.body)
    name = asking.table(view=True)
    if message.identifier:
        identified = qualified_name(asking.lake.name, message.identifier.namespace, message.identifier.name)
        if identified != name:
            raise bad_request("`identifier` is not the view of the path; leave it out, or send the path's view")
    views = asking.lake.views
    base = views.load(_may_change(asking, name))
    if views.is_applied(base, asking.once):
        # Loaded again: the commit may have happened after the first load.
        return view_answer(_load_made(asking, name, base.pointer.table))

    def confirm() -> None:
        if _may_change(asking, name) != base.pointer.table:
            raise no_such_view(joined_name(name))

    return view_answer(views.commit(base, message.requirements, message.updates, confirm, asking.once))


@retry_once
def drop_view(asking: CatalogRequest) -> None:
    """Drop a view. Needs `table.drop`."""
    name = asking.table(view=True)
    if asking.replayed() is not None:
        return
    view = asking.require_operation("resource.delete", {"resource": OperationName(name, "table")}, type="view")
    execute_command(asking, DropTable(view), (view,), asking.command_metadata(), no_such_view(joined_name(name)))


def _loaded(asking: CatalogRequest, name: QualifiedName) -> LoadedView:
    """Return a view if the caller may describe it or select from it; in a guarded session the guard decides the statement."""
    if asking.who.guarded:
        return asking.lake.views.load(asking.require_visible(name, view=True))
    return asking.lake.views.load(asking.require_table(name, "table.describe", "table.select", view=True))


def _load_made(asking: CatalogRequest, name: QualifiedName, made: ResourceId) -> LoadedView:
    """Return a view that an earlier request of the caller created or changed. Needs the privileges of a load."""
    loaded = _loaded(asking, name)
    if loaded.pointer.table != made:
        raise no_such_view(joined_name(name))
    return loaded


def _may_change(asking: CatalogRequest, name: QualifiedName) -> ResourceId:
    return asking.find_replaceable(name, type="view") or asking.require_table(name, "table.alter", view=True)


def _store_created(asking: CatalogRequest, name: QualifiedName, written: LoadedView) -> None:
    missing, pointer = no_such_namespace(joined_name(name[:-1])), written.pointer
    call = asking.command_metadata(made=pointer.table)
    try:
        database = asking.require_discoverable(name[:-1], missing)
        execute_command(asking, CreateView(database, pointer.table, name[-1], pointer), name, call, missing)
    except SpecError:
        # A file that cannot be deleted does no harm; the refusal and its audit record are more important.
        with suppress(OSError):
            asking.lake.views.discard(written)
        raise
