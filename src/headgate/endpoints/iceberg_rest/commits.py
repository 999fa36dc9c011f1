"""Commits: to one table, to several tables, and the commit that creates a staged table. Decided after the files were read."""

from collections.abc import Sequence

from fastapi import Response

from headgate.endpoints.iceberg_rest.errors import bad_request, no_such_table
from headgate.endpoints.iceberg_rest.messages import CommitTable, CommitTransaction, Identifier, parse_catalog_message
from headgate.endpoints.iceberg_rest.names import QualifiedName, joined_name, qualified_name
from headgate.endpoints.iceberg_rest.request import CatalogRequest, retry_once
from headgate.endpoints.iceberg_rest.responses import table_answer
from headgate.endpoints.iceberg_rest.tables import load_made, loaded_table, replayed_create, store_created
from headgate.lake.catalog import CheckedCommit, is_create
from headgate.lake.metadata_files import LoadedTable
from headgate.lake.table_updates import find_assigned_uuid


@retry_once
def commit_table(asking: CatalogRequest) -> Response:
    """Apply a commit to a table. The required actions follow from the changes to the table."""
    message = parse_catalog_message(CommitTable, asking.body)
    name = asking.table()
    if message.identifier and _named(asking, message.identifier) != name:
        raise bad_request("`identifier` is not the table of the path; leave it out, or send the path's table")
    guarded = asking.who.guarded
    if is_create(message.requirements):
        return table_answer(_created(asking, name, message), guarded=guarded)
    base = loaded_table(asking, name)
    if _happened(asking, base, message):
        # Loaded again: the commit may have happened after the first load.
        return table_answer(loaded_table(asking, name), guarded=guarded)
    prepared = _decided(asking, name, base, message)
    (committed,) = _commit(asking, [(name, prepared)])
    return table_answer(committed, guarded=guarded)


@retry_once
def commit_transaction(asking: CatalogRequest) -> None:
    """Apply commits to several tables, all or none. Each commit requires the same actions as alone."""
    message = parse_catalog_message(CommitTransaction, asking.body)
    changes = {_named(asking, each.identifier): each for each in message.table_changes if each.identifier}
    if None in changes or not all(each.identifier for each in message.table_changes):
        raise bad_request("a change in `table-changes` has no valid `identifier` of a table; add one to each change")
    if len(changes) != len(message.table_changes):
        raise bad_request("`table-changes` has two changes of one table; send one change per table")
    named = [(name, each) for name, each in changes.items() if name is not None]
    if any(is_create(each.requirements) for _, each in named):
        raise bad_request("a transaction cannot create tables (`assert-create`); create them before the transaction")
    bases = [(name, loaded_table(asking, name), each) for name, each in named]
    if all(_happened(asking, base, each) for _, base, each in bases):
        return
    _commit(asking, [(name, _decided(asking, name, base, each)) for name, base, each in bases])


def _commit(asking: CatalogRequest, prepared: Sequence[tuple[QualifiedName, CheckedCommit]]) -> Sequence[LoadedTable]:
    """Write the commits. Each is decided again after its files were written, so that a revoke in between takes effect."""

    def confirm() -> None:
        for name, commit in prepared:
            _require_allowed(asking, name, commit)

    return asking.lake.tables.commit([commit for _, commit in prepared], confirm, asking.once, asking.caller.run)


def _happened(asking: CatalogRequest, base: LoadedTable, message: CommitTable) -> bool:
    return asking.lake.tables.already_applied(base, message.requirements, message.updates, asking.once)


def _decided(asking: CatalogRequest, name: QualifiedName, base: LoadedTable, message: CommitTable) -> CheckedCommit:
    """Return the commit, validated and allowed.

    It is decided after the files were read, which is slow, so that a revoke in between takes effect.
    """
    guarded = asking.who.guarded
    prepared = asking.lake.tables.prepare(base, message.requirements, message.updates, guarded=guarded)
    _require_allowed(asking, name, prepared)
    return prepared


def _require_allowed(asking: CatalogRequest, name: QualifiedName, prepared: CheckedCommit) -> None:
    guarded = asking.who.guarded
    if guarded and prepared.maintains and asking.organization.gate.is_service_run(asking.caller, name):
        return
    replaced = asking.find_replaceable(name, type="table") if guarded and prepared.replaces else None
    found = [replaced] if replaced else [asking.require_table(name, action) for action in sorted(prepared.needs)]
    if any(table != prepared.base.pointer.table for table in found):
        raise no_such_table(joined_name(name))


def _created(asking: CatalogRequest, name: QualifiedName, message: CommitTable) -> LoadedTable:
    tables, owner, database = asking.lake.tables, asking.caller.principal, name[:-1]
    parent = asking.require_to_create("table", database)
    made = replayed_create(asking, name)
    if made is not None:
        return load_made(asking, name, made)
    there = asking.organization.gate.check(asking.caller, "table.describe", name).resource
    if there is not None and there == find_assigned_uuid(message.updates):
        base = tables.load(there)
        if tables.is_staged_commit(base, message.updates):
            return load_made(asking, name, there)
    written = tables.create_staged(owner, parent, name[-1], message.requirements, message.updates)
    store_created(asking, name, written)
    tables.drop_staged(owner, written.pointer.table)
    return written


def _named(asking: CatalogRequest, identifier: Identifier) -> QualifiedName | None:
    return qualified_name(asking.lake.name, identifier.namespace, identifier.name)
