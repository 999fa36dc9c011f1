"""Several logs in one database, with the origin of each entry, checkpoints and seals. Older rows go to `organization`."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COLUMNS = {
    "log": "revision, at, actor, command, changes, previous_hash, hash",
    "documents": "kind, id, body",
    "pointers": "table_id, metadata_location, previous_location",
}


def upgrade() -> None:
    """Add the log id to every row. Each table is created again, because the log id is part of its primary key."""
    for table in _COLUMNS:
        op.rename_table(table, f"{table}_1")
    _make_log()
    _make_documents()
    _make_pointers()
    for table, columns in _COLUMNS.items():
        op.execute(f"INSERT INTO {table} (log_id, {columns}) SELECT 'organization', {columns} FROM {table}_1")  # noqa: S608
        op.drop_table(f"{table}_1")
    _make_checkpoints()
    _make_seals()
    _make_audit()
    op.execute("UPDATE meta SET schema_version = 2")


def _make_log() -> None:
    op.create_table(
        "log",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("actor", sa.String),
        sa.Column("command", sa.String, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("origin", sa.Text),
        sa.Column("grounds", sa.Text),
        sa.Column("previous_hash", sa.String, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "revision", name="pk_log"),
    )
    first = sa.text("revision = 1")
    op.create_index("ix_log_first", "log", ["log_id"], sqlite_where=first, postgresql_where=first)


def _make_documents() -> None:
    op.create_table(
        "documents",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "kind", "id", name="pk_documents"),
    )
    op.create_index("ix_documents_kind_id", "documents", ["kind", "id"])


def _make_pointers() -> None:
    op.create_table(
        "pointers",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("table_id", sa.String, nullable=False),
        sa.Column("metadata_location", sa.Text, nullable=False),
        sa.Column("previous_location", sa.Text),
        sa.PrimaryKeyConstraint("log_id", "table_id", name="pk_pointers"),
    )


def _make_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "revision", name="pk_checkpoints"),
    )


def _make_seals() -> None:
    op.create_table(
        "seals",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("signature", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "revision", "key", name="pk_seals"),
    )


def _make_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("principal", sa.String),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("resource", sa.String, nullable=False),
        sa.Column("allowed", sa.Boolean, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("code", sa.String, nullable=False),
        sa.Column("door", sa.String, nullable=False),
        sa.Column("request", sa.String, nullable=False),
        sa.Column("token", sa.String),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_log_id_number", "audit", ["log_id", "number"])
