"""Arrow streams as clients send them, and forged streams; the name of each forged stream states its fault."""

import hashlib
import struct
import zlib
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc

END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_MARK: Final = b"ABCDEFGH"


def stream(table: pa.Table | pa.RecordBatch, **options: Any) -> bytes:
    """Return the stream of a table in the form that PySpark writes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def rows(count: int = 3) -> bytes:
    """Return the stream of a few ordinary rows."""
    return stream(pa.table({"i": range(count), "s": [f"v{each}" for each in range(count)]}))


def column(array: pa.Array) -> bytes:
    """Return the stream of one column."""
    return stream(pa.table({"c": array}))


def read(data: bytes) -> pa.Table:
    """Return the rows of a stream, validated in full."""
    table = pa.ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def with_offsets(start: int, end: int, kind: pa.DataType | None = None) -> bytes:
    """Return the stream of one string of 8 bytes with forged offsets."""
    return replaced(column(pa.array([_MARK.decode()], kind)), struct.pack("<ii", 0, 8), struct.pack("<ii", start, end))


def replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return the stream with the last occurrence of some bytes replaced."""
    head, found, tail = data.rpartition(old)
    assert found
    return head + new + tail


def artifact_name(data: bytes) -> str:
    """Return the name that a client uploads data under."""
    return "cache/" + hashlib.sha256(data).hexdigest()


def chunk(data: bytes) -> dict[str, Any]:
    """Return a chunk of an artifact, with its checksum."""
    return {"data": data, "crc": zlib.crc32(data)}
