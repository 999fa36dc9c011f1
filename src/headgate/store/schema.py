"""The schema version of a database, and its migration to the newest one; `migrations` has a step per released schema."""

from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, insert, inspect, select

from headgate.control.kernel.ports import StoreError
from headgate.store import tables
from headgate.store.backends import DatabaseBackend

NEWEST_SCHEMA = "0004"
"""The last migration."""

BEFORE = {1: "0001"}
"""The versions in `meta` of schemas from before migrations existed, each with the equivalent migration."""

OLDER = ("0001", "0002", "0003")
"""The migrations before the last one."""

FOLDER = Path(__file__).parent / "migrations"

version_table = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""One row: the migration that the database is at."""


def migrate_to_newest(connection: Connection, backend: DatabaseBackend, name: str) -> None:
    """Create the tables, or migrate them.

    Raises `StoreError` for a database that is no store, for a store of a newer Headgate, and for triggers, rules or views.
    """
    _require_no_hooks(connection, backend, name)
    if _version(connection, name) == NEWEST_SCHEMA:
        return
    backend.alone(connection)
    found = _version(connection, name)  # read again under the lock: another process may have migrated meanwhile
    if found is None:
        tables.table_metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(tables.meta).values(id=1, schema_version=tables.SCHEMA_VERSION))
        version_table.create(connection)
        connection.execute(insert(version_table).values(version_num=NEWEST_SCHEMA))
    elif found != NEWEST_SCHEMA:
        migrate(connection, found)


def migrate(connection: Connection, start: str | None, end: str = NEWEST_SCHEMA) -> None:
    """Run the migrations from the schema `start` (None: an empty database) to the schema `end`."""
    from alembic.migration import MigrationContext  # noqa: PLC0415 - half a second to import, and rarely needed
    from alembic.operations import Operations  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    scripts = ScriptDirectory(str(FOLDER))

    def steps(revision: Any, _context: MigrationContext) -> Any:
        return scripts._upgrade_revs(end, revision)  # noqa: SLF001 - as Alembic's own commands do

    context = MigrationContext.configure(connection, opts={"fn": steps, "script": scripts})
    if start is not None and context.get_current_revision() is None:
        context.stamp(scripts, start)
    with Operations.context(context):
        context.run_migrations()


def _require_no_hooks(connection: Connection, backend: DatabaseBackend, name: str) -> None:
    """Raise `StoreError` for a database that can change rows by itself: it could restore revoked sessions."""
    found = connection.execute(backend.hooks).scalars().first()
    if found is not None:
        raise StoreError(
            f"the store `{name}` has the trigger, rule or view `{found}`, which Headgate did not create and which can alter "
            "stored rows; find out how it was created, then drop it or restore a backup"
        )


def _version(connection: Connection, name: str) -> str | None:
    """Return the schema version (the last migration) of the database; None for an empty database."""
    names = inspect(connection).get_table_names()
    if not names:
        return None
    if "meta" not in names:
        raise StoreError(
            f"the database `{name}` has other tables and is not a store of Headgate; choose another database"
        )
    if version_table.name in names:
        found = connection.execute(select(version_table.c.version_num)).scalar()
        known = found in (*OLDER, NEWEST_SCHEMA)
    else:
        old = connection.execute(select(tables.meta.c.schema_version)).scalar()
        found, known = BEFORE.get(old or 0, old), old in BEFORE
    if not known:
        raise StoreError(
            f"the store `{name}` has schema version {found}, but this Headgate knows versions up to {NEWEST_SCHEMA}; start the "
            "version of Headgate that created the store, or choose another store"
        )
    return str(found)
