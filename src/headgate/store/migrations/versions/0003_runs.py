"""Runs of pipelines and their logs: a queue that several workers share. Documents of earlier runs are not migrated."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("pipeline", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("trigger", sa.String, nullable=False),
        sa.Column("actor", sa.String),
        sa.Column("queued", sa.Double, nullable=False),
        sa.Column("due", sa.Double, nullable=False),
        sa.Column("started", sa.Double),
        sa.Column("ended", sa.Double),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("worker", sa.String, nullable=False),
        sa.Column("lease", sa.Double),
        sa.Column("cluster", sa.String, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("since", sa.Text),
        sa.Column("until", sa.Text),
        sa.Column("figures", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "run", name="pk_runs"),
    )
    for columns in (("state", "due"), ("queued", "run"), ("pipeline", "queued", "run")):
        op.create_index(f"ix_runs_log_id_{'_'.join(columns)}", "runs", ["log_id", *columns])
    op.create_table(
        "run_lines",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "run", "number", name="pk_run_lines"),
    )
