"""Whether rows of an Arrow stream are compressed, found before Arrow unpacks all of them at once, however large they are."""

import struct
from typing import Final

import pyarrow as pa
import pyarrow.ipc

_HEADER: Final = 2
"""The field of a message that holds its record batch."""
_COMPRESSION: Final = 3
"""The field of a record batch that names its compression."""


def is_compressed(message: pa.ipc.Message) -> bool:
    """Return whether a message is a record batch that may be compressed. Raises `struct.error` for one that is malformed.

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
    """Return where a field of a table of FlatBuffers lies; where the table itself does, if it is left out."""
    names = table - struct.unpack_from("<i", metadata, table)[0]
    if names < 0:
        raise struct.error("a table lies before the message")
    at = 4 + 2 * number
    is_there = at < struct.unpack_from("<H", metadata, names)[0]
    return table + (struct.unpack_from("<H", metadata, names + at)[0] if is_there else 0)
