"""Avro files written byte by byte, as a writer with direct access to the storage may write them."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

SYNC = b"S" * 16


def number(value: int) -> bytes:
    """Encode an int or a long."""
    rest, written = (value << 1) ^ (value >> 63 if value < 0 else 0), b""
    while rest & ~0x7F:
        written += bytes([(rest & 0x7F) | 0x80])
        rest >>= 7
    return written + bytes([rest])


def text(value: str | bytes) -> bytes:
    """Encode a string or bytes, after their length."""
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def field(id: int, name: str, type: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "field-id": id}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": list(fields)}


LIST = record(
    field(500, "manifest_path", "string"),
    field(501, "manifest_length", "long"),
    field(502, "partition_spec_id", "int"),
    field(517, "content", "int"),
    field(515, "sequence_number", "long"),
    field(503, "added_snapshot_id", "long"),
    field(516, "min_sequence_number", "long"),
    field(504, "added_files_count", "int"),
    field(505, "existing_files_count", "int"),
    field(506, "deleted_files_count", "int"),
    field(512, "added_rows_count", "long"),
    field(513, "existing_rows_count", "long"),
    field(514, "deleted_rows_count", "long"),
)
"""The schema of a manifest list with every field that Iceberg requires: a reader without limits reads the rows too."""


def listed(path: str, spec: int = 0, content: int = 0) -> bytes:
    """Encode the record of one manifest in a manifest list of this schema; the manifest adds one file of two rows."""
    return text(path) + b"".join(map(number, (1000, spec, content, 1, 7, 1, 1, 0, 0, 2, 0, 0)))


FILE = {134: "int", 100: "string", 101: "string", 102: record(), 103: "long", 104: "long"}
"""The fields of a data file, reduced to those that Headgate reads."""
ENTRY = record(
    field(0, "status", "int"), field(2, "data_file", record(*(field(id, str(id), type) for id, type in FILE.items())))
)
"""The schema of a manifest with such data files."""


def file_values(path: str, format: str = "PARQUET", content: int = 0) -> bytes:
    """Encode a file with these fields."""
    return number(content) + text(path) + text(format) + number(2) + number(900)


def header(schema: Any, codec: str | None = "null", more: Mapping[str, str] | None = None) -> bytes:
    written = schema if isinstance(schema, str) else json.dumps(schema)
    entries = {"avro.schema": written} | ({} if codec is None else {"avro.codec": codec}) | dict(more or {})
    pairs = b"".join(text(key) + text(value) for key, value in entries.items())
    return b"Obj\x01" + number(len(entries)) + pairs + number(0) + SYNC


def block(count: int, data: bytes) -> bytes:
    return number(count) + text(data) + SYNC


def avro(schema: Any, count: int, data: bytes) -> bytes:
    """Return an Avro file of one uncompressed block."""
    return header(schema) + block(count, data)


def deflated(data: bytes, times: int = 1) -> bytes:
    """Return the data, repeated, as raw deflate."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(packer.compress(data) for _ in range(times)) + packer.flush()
