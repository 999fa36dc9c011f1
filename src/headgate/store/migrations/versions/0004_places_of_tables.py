"""The folder of each table's files, unique across all logs."""

import sqlalchemy as sa
from alembic import op

from headgate.control.kernel.ports import StoreError

revision = "0004"
down_revision = "0003"

_SCHEMES = {"s3a": "s3", "s3n": "s3"}


def upgrade() -> None:
    """Create the table `pointers` again, with the folders."""
    found = op.get_bind().execute(sa.text("SELECT * FROM pointers ORDER BY log_id, table_id")).mappings().all()
    rows = [{**row, "place": _place(str(row["metadata_location"]))} for row in found]
    for column in ("table_id", "place"):
        _require_apart(rows, column)
    op.drop_table("pointers")
    made = op.create_table(
        "pointers",
        sa.Column("log_id", sa.String, nullable=False),
        sa.Column("table_id", sa.String, nullable=False),
        sa.Column("metadata_location", sa.Text, nullable=False),
        sa.Column("previous_location", sa.Text),
        sa.Column("place", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("log_id", "table_id", name="pk_pointers"),
    )
    if rows:
        op.bulk_insert(made, rows)
    for column in ("table_id", "place"):
        op.create_index(f"ux_pointers_{column}", "pointers", [column], unique=True)


def _require_apart(rows: list[dict[str, object]], column: str) -> None:
    """Raise `StoreError` if two tables have the same id or files: one was registered over the files of the other."""
    what = "id" if column == "table_id" else "files"
    seen = dict[object, dict[str, object]]()
    for row in rows:
        other = seen.setdefault(row[column], row)
        if other is not row:
            raise StoreError(
                f"the store was not upgraded: the table `{row['table_id']}` of the organization `{row['log_id']}` and the table "
                f"`{other['table_id']}` of the organization `{other['log_id']}` have the same {what}, which only one table may have; "
                "start the previous version of Headgate, see in the audit of the organizations which of the two tables was registered "
                "last, drop that table without purging its files, and start this version again"
            )


def _place(metadata_location: str) -> str:
    folder = metadata_location.rpartition("/metadata/")[0] or metadata_location
    scheme, colon, rest = folder.partition(":") if not folder.startswith("/") else ("file", ":", folder)
    path = "/".join(part for part in rest.split("/") if part)
    return f"{_SCHEMES.get(scheme, scheme)}{colon}/{path}"
