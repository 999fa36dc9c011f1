"""Tables: create (at once or staged), load, commit, rename, drop. Each is decided before it is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headgate.doors.iceberg_rest.asking import Asking, full_name
from headgate.doors.iceberg_rest.errors import SpecError, bad_request, no_such_namespace, no_such_table, refusal, shown
from headgate.doors.iceberg_rest.messages import CommitTable, CreateTable, RenameTable, parsed, table_answer
from headgate.doors.iceberg_rest.ports import Gate, GateError, Name, RefusedError
from headgate.facts.ids import ResourceId
from headgate.lake.catalog import Loaded, TableCatalog, creates
from headgate.lake.errors import RuleError


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is left to do after a drop: nothing, or to remove the files."""

    purge: Callable[[], None] | None


class Tables:
    """The tables of one lake, as far as the caller may use them."""

    def __init__(self, gate: Gate, catalog: TableCatalog, lake: str) -> None:
        self._gate = gate
        self._catalog = catalog
        self._lake = lake

    def load(self, asking: Asking) -> dict[str, Any]:
        """Return a table's metadata.

        It names the files, so it needs `table.select`; in a guarded session the statement decides, and the metadata
        goes to whoever may discover the table.
        """
        loaded = self._loaded(asking, self._table(asking))
        return table_answer(loaded.pointer.metadata_location, loaded.metadata)

    def exists(self, asking: Asking) -> None:
        """Return if the caller may discover the table."""
        self._discovered(asking, self._table(asking))

    def create(self, asking: Asking) -> dict[str, Any]:
        """Make a table, or only its metadata if it is staged. Needs `database.create_table`."""
        database = self._database(asking)
        message = parsed(CreateTable, asking.body)
        if message.location is not None:
            raise RuleError("a table's location is chosen by Headgate: leave it out")
        parent = self._required(asking, "database.create_table", database, no_such_namespace(shown(database)))
        if message.stage_create:
            owner = asking.caller.principal
            return table_answer(None, self._catalog.stage(owner, message.new_table(), parent, message.name))
        written = self._catalog.create(message.new_table(), parent)
        self._store_created(asking, database, message.name, written)
        return table_answer(written.pointer.metadata_location, written.metadata)

    def commit(self, asking: Asking) -> dict[str, Any]:
        """Apply a commit; what it needs follows from what it makes of the table."""
        message = parsed(CommitTable, asking.body)
        name = self._table(asking)
        if message.identifier and full_name(self._lake, message.identifier.namespace, message.identifier.name) != name:
            raise bad_request("the identifier is not the table of the path")
        if creates(message.requirements):
            return self._commit_create(asking, name, message)
        base = self._loaded(asking, name)
        guarded = asking.who.guarded
        prepared = self._catalog.prepare(base, message.requirements, message.updates, guarded=guarded)
        # Decided after the files were read, which takes long, so that a revoke in between counts.
        for action in sorted(prepared.needs):
            table = self._required(asking, action, name, no_such_table(shown(name)))
            if table != base.pointer.table:
                raise no_such_table(shown(name))
        written = self._catalog.commit(prepared)
        return table_answer(written.pointer.metadata_location, written.metadata)

    def rename(self, asking: Asking) -> None:
        """Give a table another name. Needs `table.alter` and `table.drop`, and `database.create_table` there."""
        message = parsed(RenameTable, asking.body)
        source = full_name(self._lake, message.source.namespace, message.source.name)
        if source is None:
            raise no_such_table(".".join((*message.source.namespace, message.source.name)))
        missing = no_such_table(shown(source))
        table = self._required(asking, "table.alter", source, missing)
        self._required(asking, "table.drop", source, missing)
        database = (self._lake, *message.destination.namespace)
        no_database = no_such_namespace(shown(database))
        self._required(asking, "database.create_table", database, no_database)
        try:
            self._gate.rename_table(asking.caller, table, database, message.destination.name)
        except RefusedError as error:
            raise refusal(error.verdict, missing) from error

    def drop(self, asking: Asking, *, purge: bool) -> Dropped:
        """Remove a table. Needs `table.drop`."""
        name = self._table(asking)
        missing = no_such_table(shown(name))
        table = self._required(asking, "table.drop", name, missing)
        loaded = self._catalog.load(table) if purge else None
        try:
            self._gate.drop_table(asking.caller, table)
        except RefusedError as error:
            raise refusal(error.verdict, missing) from error
        return Dropped(None if loaded is None else lambda: self._catalog.purge(loaded))

    def _commit_create(self, asking: Asking, name: Name, message: CommitTable) -> dict[str, Any]:
        database = name[:-1]
        parent = self._required(asking, "database.create_table", database, no_such_namespace(shown(database)))
        owner = asking.caller.principal
        written = self._catalog.create_staged(owner, parent, name[-1], message.requirements, message.updates)
        self._store_created(asking, database, name[-1], written)
        self._catalog.created(owner, written.pointer.table)
        return table_answer(written.pointer.metadata_location, written.metadata)

    def _store_created(self, asking: Asking, database: Name, name: str, written: Loaded) -> None:
        try:
            self._gate.create_table(asking.caller, database, name, written.pointer.table, written.pointer)
        except GateError as error:
            self._catalog.discard(written)
            if isinstance(error, RefusedError):
                raise refusal(error.verdict, no_such_namespace(shown(database))) from error
            raise

    def _loaded(self, asking: Asking, name: Name) -> Loaded:
        missing = no_such_table(shown(name))
        if asking.who.guarded:
            table = self._discovered(asking, name)
        else:
            table = self._required(asking, "table.select", name, missing)
        return self._catalog.load(table)

    def _discovered(self, asking: Asking, name: Name) -> ResourceId:
        verdict = self._gate.check(asking.caller, "table.describe", name)
        if verdict.resource is None or not verdict.discoverable:
            raise no_such_table(shown(name))
        return verdict.resource

    def _required(self, asking: Asking, action: str, name: Name, missing: SpecError) -> ResourceId:
        verdict = self._gate.check(asking.caller, action, name)
        if verdict.resource is None:
            raise missing
        if not verdict.allowed:
            raise refusal(verdict, missing)
        return verdict.resource

    def _database(self, asking: Asking) -> Name:
        name = asking.database(self._lake)
        if name is None:
            raise no_such_namespace(asking.shown())
        return name

    def _table(self, asking: Asking) -> Name:
        name = asking.table(self._lake)
        if name is None:
            raise no_such_table(asking.shown())
        return name
