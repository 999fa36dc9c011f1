"""Manifest lists that crash the process of the compiled Avro reader, or exhaust its memory."""

import io
from typing import Any

import fastavro

_SYNC = b"0" * 16
PATHS: Any = {"type": "array", "items": "null"}


def empty(paths: Any = PATHS) -> bytes:
    """Return a manifest list without manifests, whose paths are of this type."""
    schema: Any = {"type": "record", "name": "r", "fields": [{"name": "manifest_path", "type": paths}]}
    written = io.BytesIO()
    fastavro.writer(written, schema, [], sync_marker=_SYNC)
    return written.getvalue()


def filling() -> bytes:
    """Return a small file that claims an array of 2^40 values of zero bytes each."""
    return empty() + _block(b"\x80\x80\x80\x80\x80\x40\x00")


def crashing() -> bytes:
    """Return a file with a record that is nested two million times, which overflows the stack of its reader."""
    return empty(["null", "r"]) + _block(b"\x02" * 2_000_000 + b"\x00")


def _block(record: bytes) -> bytes:
    """Return a block of one record."""
    size, left = b"", 2 * len(record)
    while left > 0x7F:
        size, left = size + bytes([left & 0x7F | 0x80]), left >> 7
    return b"\x02" + size + bytes([left]) + record + _SYNC
