"""Avro files: parses the header and the blocks, each decompressed within a limit."""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import zstandard

from headgate.untrusted_input.avro_values import AvroShape, Cursor, build_decoder
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.json_documents import distinct_members

MAX_UNPACKED_BYTES: Final = 128 * 1024 * 1024
"""The limit of bytes of all blocks of a file after decompression."""
MAX_SCHEMA_BYTES: Final = 256 * 1024

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_MAX_ENTRIES: Final = 64
"""The limit of entries in the header."""
_MAX_WINDOW: Final = 8 * 1024 * 1024
"""The limit of the window of zstandard; the usual compression levels need no more."""
_CHUNK_BYTES: Final = 1024 * 1024
_RAW: Final = -15
"""Deflate without a zlib header."""
_TRAILER: Final = 4
"""The bytes of zlib's checksum, which PyIceberg leaves after a block."""


@dataclass(frozen=True, slots=True)
class _Header:
    schema: Any
    codec: str
    sync: bytes


def read_records(data: bytes, shape: AvroShape) -> Iterator[dict[int, Any]]:
    """Yield the records of a file as dictionaries by field id.

    Raises:
        UnreadableInputError: the file is malformed, or has another schema or codec than Iceberg's manifests.
        OversizedInputError: the file is too large after decompression, or needs too much memory.
    """
    try:
        yield from _records(data, shape)
    except MemoryError:
        raise OversizedInputError(
            "the Avro file needs more memory than one file may use; write smaller manifests"
        ) from None
    except (IndexError, RecursionError):
        raise UnreadableInputError(
            "the Avro file ends in the middle of a value; write the file again with an Iceberg library"
        ) from None


def _records(data: bytes, shape: AvroShape) -> Iterator[dict[int, Any]]:
    cursor = Cursor(data)
    header = _header(cursor)
    decode = build_decoder(header.schema, shape)
    left = MAX_UNPACKED_BYTES
    while cursor.left:
        count, packed = cursor.long(), cursor.binary()
        if cursor.exactly(_SYNC_BYTES) != header.sync:
            raise UnreadableInputError(
                "a block of the Avro file does not end with the file's marker; write the file again with an Iceberg library"
            )
        block = _unpack(header.codec, packed, left)
        left -= len(block)
        if count <= 0 and cursor.left:
            raise UnreadableInputError(
                "the Avro file has data after an empty block; write the file again with an Iceberg library"
            )
        if not 0 <= count <= len(block):
            raise UnreadableInputError(
                "a block of the Avro file states more records than it has bytes; write the file again with an Iceberg library"
            )
        values = Cursor(block)
        for _ in range(count):
            yield decode(values)
        if values.left:
            raise UnreadableInputError(
                "a block of the Avro file is longer than its records; write the file again with an Iceberg library"
            )


def _header(cursor: Cursor) -> _Header:
    if cursor.left < len(_MAGIC) or cursor.exactly(len(_MAGIC)) != _MAGIC:
        raise UnreadableInputError("the file is not an Avro file; write the file again with an Iceberg library")
    entries: dict[str, bytes] = {}
    while count := cursor.count():
        for _ in range(count):
            key, value = cursor.text(), cursor.binary()
            if key in entries or len(entries) >= _MAX_ENTRIES:
                raise UnreadableInputError(
                    "the header of the Avro file has a duplicate entry, or too many entries; write the file again with an Iceberg library"
                )
            entries[key] = value
    return _Header(_schema(entries.get("avro.schema", b"")), _codec(entries), cursor.exactly(_SYNC_BYTES))


def _codec(entries: Mapping[str, bytes]) -> str:
    codec = entries.get("avro.codec", b"null")
    if codec not in {b"null", b"deflate", b"zstandard"}:
        raise UnreadableInputError(
            "the Avro file's codec is not `null`, `deflate` or `zstandard`; write the file again with an Iceberg library"
        )
    return codec.decode()


def _schema(text: bytes) -> Any:
    if len(text) > MAX_SCHEMA_BYTES:
        raise UnreadableInputError(
            f"the schema of the Avro file is larger than {MAX_SCHEMA_BYTES // 1024} KiB, because it has a field for each partition field of the table; partition the table by fewer fields"
        )
    try:
        return json.loads(text, object_pairs_hook=distinct_members)
    except ValueError:
        raise UnreadableInputError(
            "the Avro file's schema is not JSON, or has a duplicate name; write the file again with an Iceberg library"
        ) from None


def _unpack(codec: str, packed: bytes, most: int) -> bytes:
    try:
        block = {"null": _plain, "deflate": _inflate, "zstandard": _unpack_zstandard}[codec](packed, most)
    except (zlib.error, zstandard.ZstdError):
        raise UnreadableInputError(
            "a block of the Avro file cannot be decompressed; write the file again with an Iceberg library"
        ) from None
    if len(block) > most:
        size = MAX_UNPACKED_BYTES // 1024 // 1024
        raise OversizedInputError(
            f"the Avro file is larger than {size} MiB after decompression; write smaller manifests"
        )
    return block


def _plain(packed: bytes, _most: int) -> bytes:
    return packed


def _inflate(packed: bytes, most: int) -> bytes:
    inflater = zlib.decompressobj(_RAW)
    block = inflater.decompress(packed, most + 1)
    if len(block) <= most and (not inflater.eof or len(inflater.unused_data) > _TRAILER):
        raise UnreadableInputError(
            "a block of the Avro file is truncated, or has bytes after its end; write the file again with an Iceberg library"
        )
    return block


def _unpack_zstandard(packed: bytes, most: int) -> bytes:
    unpacker, block = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW), bytearray()
    with unpacker.stream_reader(packed, read_across_frames=True) as reader:
        while len(block) <= most and (chunk := reader.read(_CHUNK_BYTES)):
            block += chunk
    return bytes(block)
