"""The tables of a store. Nobody outside this package sees them."""

from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text

SCHEMA_VERSION = 1

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("schema_version", Integer, nullable=False),
)
"""One row."""

log = Table(
    "log",
    metadata,
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),
    Column("actor", String),
    Column("command", String, nullable=False),
    Column("changes", Text, nullable=False),
    Column("previous_hash", String, nullable=False),
    Column("hash", String, nullable=False),
)

documents = Table(
    "documents",
    metadata,
    Column("kind", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("body", Text, nullable=False),
)

pointers = Table(
    "pointers",
    metadata,
    Column("table_id", String, primary_key=True),
    Column("metadata_location", Text, nullable=False),
    Column("previous_location", Text),
)
