"""The tables of a store, as the newest migration leaves them. Private to this package."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    literal_column,
)

SCHEMA_VERSION = 2
"""The schema version in `meta`."""

table_metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s", "ix": "ix_%(table_name)s_%(column_0_N_name)s"})

meta = Table(
    "meta",
    table_metadata,
    Column("id", Integer, primary_key=True),
    Column("schema_version", Integer, nullable=False),
)
"""One row, from before migrations existed: an old Headgate reads it and refuses a newer store."""

log_table = Table(
    "log",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("actor", String),
    Column("command", String, nullable=False),
    Column("changes", Text, nullable=False),
    Column("origin", Text),
    Column("grounds", Text),
    Column("previous_hash", String, nullable=False),
    Column("hash", String, nullable=False),
)
"""The entries of every log. Entries of schema 0001, which had one log, have no origin and no grounds."""

FIRST = literal_column("log.revision") == literal_column("1")
"""The first entry of a log, with the same condition as in its partial index."""

Index("ix_log_first", log_table.c.log_id, sqlite_where=FIRST, postgresql_where=FIRST)

documents = Table(
    "documents",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("body", Text, nullable=False),
    Index(None, "kind", "id"),
)

pointers = Table(
    "pointers",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("table_id", String, primary_key=True),
    Column("metadata_location", Text, nullable=False),
    Column("previous_location", Text),
    Column("place", Text, nullable=False),
    Index("ux_pointers_table_id", "table_id", unique=True),
    Index("ux_pointers_place", "place", unique=True),
)
"""The metadata location of each table. `place` is the folder of the table's files, unique across all logs."""

checkpoints = Table(
    "checkpoints",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

seals = Table(
    "seals",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("key", String, primary_key=True),
    Column("at", Double, nullable=False),
    Column("hash", String, nullable=False),
    Column("signature", String, nullable=False),
)
"""Seals: signed statements of the hash chain; `key` is the fingerprint of the key that signed."""

runs = Table(
    "runs",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("pipeline", String, nullable=False),
    Column("state", String, nullable=False),
    Column("trigger", String, nullable=False),
    Column("actor", String),
    Column("queued", Double, nullable=False),
    Column("due", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("attempt", Integer, nullable=False),
    Column("worker", String, nullable=False),
    Column("lease", Double),
    Column("cluster", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("since", Text),
    Column("until", Text),
    Column("figures", Text, nullable=False),
    Index(None, "log_id", "state", "due"),
    Index(None, "log_id", "queued", "run"),
    Index(None, "log_id", "pipeline", "queued", "run"),
)
"""Runs of pipelines: the queue and the outcomes. Not in the hash chain: the log has what a run was allowed to do."""

run_lines = Table(
    "run_lines",
    table_metadata,
    Column("log_id", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("text", Text, nullable=False),
)
"""The log lines of runs."""

audit = Table(
    "audit",
    table_metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("log_id", String, nullable=False),
    Column("at", Double, nullable=False),
    Column("principal", String),
    Column("action", String, nullable=False),
    Column("resource", String, nullable=False),
    Column("allowed", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("model", String, nullable=False),
    Column("code", String, nullable=False),
    Column("door", String, nullable=False),
    Column("request", String, nullable=False),
    Column("token", String),
    Index(None, "log_id", "number"),
)
"""The audit of decisions given to callers. Not in the hash chain: the settings determine which decisions are kept."""
