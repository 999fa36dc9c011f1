"""Validation of Arrow streams. Streams of clients are rewritten, so that no byte of the client's framing is passed on."""

import struct
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.ipc

from headgate.untrusted_input.arrow_compression import is_compressed
from headgate.untrusted_input.arrow_types import plain_schema, require_plain_schema
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError

MAX_STREAM_BYTES: Final = 160 * 1024 * 1024
"""The limit of bytes of one rewritten stream, without compression."""
MAX_ROWS: Final = 10_000_000
"""The limit of rows of one stream, and of slots without memory: a column of any number of nulls takes a few bytes."""

_PLAIN_MESSAGES: Final = ("schema", "record batch")
_INVALID_TEXT: Final = "Invalid UTF8"
_INVALID: Final = (
    "the rows are not a valid Arrow stream; run the statement again, and ask the operator to restart the Spark driver if it "
    "fails again"
)
_ENCODED: Final = (
    "the rows are compressed or dictionary-encoded; run the statement again, and ask the operator to restart the Spark "
    "driver if it fails again"
)
_NO_UTF_8: Final = "a string in the rows is not UTF-8; select its column through the function `make_valid_utf8`"
_READ_ERRORS: Final = (pa.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError)
"""The errors that Arrow raises for a stream that it cannot read."""
_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_READ: Final = pa.ipc.IpcReadOptions(use_threads=False)
_WRITE: Final = pa.ipc.IpcWriteOptions(compression=None, use_threads=False, allow_64bit=False)
_MALFORMED: Final = "the rows are not a valid Arrow stream; create them with pyarrow or pandas and send them again"


def rewrite_arrow(data: bytes | bytearray) -> pa.Buffer:
    """Return a new stream with the same rows.

    Raises:
        UnreadableInputError: the stream is malformed, or has types that are not allowed.
        OversizedInputError: the rows are too many or too large.
    """
    source = pa.BufferReader(pa.py_buffer(data))
    try:
        rewritten = _rewrite(pa.ipc.open_stream(source, options=_READ))
        consumed = source.tell()
    except MemoryError:
        raise OversizedInputError(
            "the rows need more memory than one upload may use; divide the rows into several uploads"
        ) from None
    except _READ_ERRORS:
        raise UnreadableInputError(_MALFORMED) from None
    if consumed != len(data) or data[-len(_END) :] != _END:
        raise UnreadableInputError(
            "the upload does not end with the end-of-stream marker of Arrow, so it is incomplete; send the rows again"
        )
    return rewritten


def require_valid_arrow(data: bytes) -> None:
    """Return if the stream is uncompressed and all its values are within its bytes; for rows that are read without rewriting.

    Raises:
        UnreadableInputError: the stream is malformed, compressed or dictionary-encoded, has types that Spark does not
            write, or a string that is not UTF-8.
        OversizedInputError: the rows are too many or too large.
    """
    source = pa.py_buffer(data)
    try:
        for message in pa.ipc.MessageReader.open_stream(source):
            if message.type not in _PLAIN_MESSAGES or is_compressed(message):
                raise UnreadableInputError(_ENCODED)
        reader = pa.ipc.open_stream(source, options=_READ)
        # Only checked, not rewritten: Spark has types that PyArrow reads but cannot create, such as that of `map()`.
        require_plain_schema(reader.schema)
        for _ in _read_valid(reader):
            pass
    except MemoryError:
        raise OversizedInputError("the rows need more memory than is available; select fewer rows") from None
    except (*_READ_ERRORS, struct.error) as error:
        raise UnreadableInputError(_NO_UTF_8 if _INVALID_TEXT in str(error) else _INVALID) from None


def _rewrite(reader: pa.RecordBatchStreamReader) -> pa.Buffer:
    schema = plain_schema(reader.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_WRITE) as writer:
        for read in _read_valid(reader):
            writer.write_batch(pa.RecordBatch.from_arrays(read.columns, schema=schema) if schema.names else read)
    return sink.getvalue()


def _read_valid(reader: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream, each validated in full and within the limits of one stream."""
    room = _Room()
    for batch in reader:
        # In this order: the sizes are checked before steps whose time or memory is proportional to them.
        batch.validate()
        room.take(batch)
        batch.validate(full=True)
        yield batch


class _Room:
    """The remaining limits of one stream."""

    def __init__(self) -> None:
        self._rows = self._slots = MAX_ROWS
        self._bytes = MAX_STREAM_BYTES

    def take(self, batch: pa.RecordBatch) -> None:
        """Raise `OversizedInputError` if the stream has become too large with this batch."""
        self._rows -= batch.num_rows
        self._slots -= sum(_count_free_slots(column) for column in batch.columns)
        if self._rows < 0 or self._slots < 0:
            raise OversizedInputError(
                f"one Arrow stream has more than {MAX_ROWS:,} rows; send or select fewer rows at once"
            )
        self._bytes -= pa.ipc.get_record_batch_size(batch)
        if self._bytes < 0:
            most = MAX_STREAM_BYTES // 1024 // 1024
            raise OversizedInputError(
                f"the rows of one Arrow stream are larger than {most} MiB; send or select fewer rows at once"
            )


def _count_free_slots(array: pa.Array) -> int:
    """Return the number of values of the array and its nested arrays that take no memory of their own."""
    if pa.types.is_null(array.type):
        return len(array)
    if pa.types.is_struct(array.type):
        fields = array.type.num_fields
        return sum(_count_free_slots(array.field(index)) for index in range(fields)) if fields else len(array)
    if pa.types.is_map(array.type):
        return _count_free_slots(array.keys) + _count_free_slots(array.items)
    if pa.types.is_list(array.type):
        return _count_free_slots(array.values)
    return 0
