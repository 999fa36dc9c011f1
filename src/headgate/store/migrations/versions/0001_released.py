"""The first released schema: one log."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("schema_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "log",
        sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("actor", sa.String),
        sa.Column("command", sa.String, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("previous_hash", sa.String, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "pointers",
        sa.Column("table_id", sa.String, primary_key=True),
        sa.Column("metadata_location", sa.Text, nullable=False),
        sa.Column("previous_location", sa.Text),
    )
    op.execute("INSERT INTO meta (id, schema_version) VALUES (1, 1)")
