"""Which schema a database has, and bringing it to the newest; `migrations` has one step for each that there ever was."""

from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, insert, inspect, select

from headgate.control.kernel.ports import StoreError
from headgate.store import tables
from headgate.store.backends import DatabaseBackend

NEWEST_SCHEMA = "0004"
"""The last migration."""

BEFORE = {1: "0001"}
"""What `meta` says of the schemas from before there were migrations, and the migration that would have made each."""

OLDER = ("0001", "0002", "0003")
"""The migrations before the last one."""

FOLDER = Path(__file__).parent / "migrations"

version_table = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""One row: the migration that the database is at."""


def migrate_to_newest(connection: Connection, backend: DatabaseBackend, name: str) -> None:
    """Make the tables, or migrate them.

    Raises `StoreError` for what is no store, for one of a newer Headgate, and for one with triggers, rules or views.
    """
    _require_no_hooks(connection, backend, name)
    if _version(connection, name) == NEWEST_SCHEMA:
        return
    backend.alone(connection)
    found = _version(connection, name)  # asked again: another process may have been faster
    if found is None:
        tables.table_metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(tables.meta).values(id=1, schema_version=tables.SCHEMA_VERSION))
        version_table.create(connection)
        connection.execute(insert(version_table).values(version_num=NEWEST_SCHEMA))
    elif found != NEWEST_SCHEMA:
        migrate(connection, found)


def migrate(connection: Connection, start: str | None, end: str = NEWEST_SCHEMA) -> None:
    """Take the migrations from one schema to another; None is an empty database."""
    from alembic.migration import MigrationContext  # noqa: PLC0415 - it takes half a second that most starts do without
    from alembic.operations import Operations  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    scripts = ScriptDirectory(str(FOLDER))

    def steps(revision: Any, _context: MigrationContext) -> Any:
        return scripts._upgrade_revs(end, revision)  # noqa: SLF001 - how Alembic's own commands do it

    context = MigrationContext.configure(connection, opts={"fn": steps, "script": scripts})
    if start is not None and context.get_current_revision() is None:
        context.stamp(scripts, start)
    with Operations.context(context):
        context.run_migrations()


def _require_no_hooks(connection: Connection, backend: DatabaseBackend, name: str) -> None:
    """Raise `StoreError` for a database that changes rows by itself: it could bring back sessions that have ended."""
    found = connection.execute(backend.hooks).scalars().first()
    if found is not None:
        raise StoreError(
            f"`{name}` has the trigger, rule or view `{found}`, which Headgate did not create and which can change what is "
            "stored; find out who created it, then drop it or restore another copy"
        )


def _version(connection: Connection, name: str) -> str | None:
    """Return the migration that the database is at; None for an empty one."""
    names = inspect(connection).get_table_names()
    if not names:
        return None
    if "meta" not in names:
        raise StoreError(f"`{name}` is not a store of Headgate; choose another")
    if version_table.name in names:
        found = connection.execute(select(version_table.c.version_num)).scalar()
        known = found in (*OLDER, NEWEST_SCHEMA)
    else:
        old = connection.execute(select(tables.meta.c.schema_version)).scalar()
        found, known = BEFORE.get(old or 0, old), old in BEFORE
    if not known:
        raise StoreError(
            f"`{name}` has schema version {found} and this Headgate knows those up to {NEWEST_SCHEMA}; "
            "start the version that made it, or choose another store"
        )
    return str(found)
