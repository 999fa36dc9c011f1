"""Detection of compressed rows in an Arrow stream, before Arrow decompresses all of them at once, whatever their size."""

import struct
from typing import Final

import pyarrow as pa
import pyarrow.ipc

_HEADER: Final = 2
"""The number of the field with a message's record batch."""
_COMPRESSION: Final = 3
"""The number of the field with a record batch's compression."""


def is_compressed(message: pa.ipc.Message) -> bool:
    """Whether a message is a record batch that may be compressed. Raises `struct.error` for a malformed message.

    Before the fifth version of the format, Arrow also reads the compression from the message's own metadata.
    """
    if message.type != "record batch":
        return False
    if message.metadata_version != pa.ipc.MetadataVersion.V5:
        return True
    metadata = message.metadata
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], _HEADER)
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, _COMPRESSION) != batch


def _field(metadata: pa.Buffer, table: int, number: int) -> int:
    """Return the position of a field of a FlatBuffers table, or the position of the table if the field is missing."""
    names = table - struct.unpack_from("<i", metadata, table)[0]
    if names < 0:
        raise struct.error("a FlatBuffers table is outside of the Arrow message")
    at = 4 + 2 * number
    is_there = at < struct.unpack_from("<H", metadata, names)[0]
    return table + (struct.unpack_from("<H", metadata, names + at)[0] if is_there else 0)
