"""Manifest lists that end or fill a process in which the compiled Avro reader reads them."""

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
    """Return a small file that claims an array of 2^40 values, none of which takes a byte."""
    return empty() + _block(b"\x80\x80\x80\x80\x80\x40\x00")


def crashing() -> bytes:
    """Return a file in which a record holds itself two million times: its reader runs out of stack."""
    return empty(["null", "r"]) + _block(b"\x02" * 2_000_000 + b"\x00")


def _block(record: bytes) -> bytes:
    """Return a block of one record."""
    size, left = b"", 2 * len(record)
    while left > 0x7F:
        size, left = size + bytes([left & 0x7F | 0x80]), left >> 7
    return b"\x02" + size + bytes([left]) + record + _SYNC
