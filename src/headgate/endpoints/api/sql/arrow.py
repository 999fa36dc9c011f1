"""Arrow IPC streams: record batches are encoded one at a time."""

import io

import pyarrow as pa


class ArrowStream:
    """Encodes a stream; each call returns the bytes that it adds to the stream."""

    def __init__(self, schema: pa.Schema) -> None:
        self._sink = io.BytesIO()
        self._writer = pa.ipc.new_stream(self._sink, schema)

    def batch(self, batch: pa.RecordBatch) -> bytes:
        """Add a batch of rows."""
        self._writer.write_batch(batch)
        return self._take_written()

    def end(self) -> bytes:
        """Add the end-of-stream marker, by which the client knows that the result is complete."""
        self._writer.close()
        return self._take_written()

    def _take_written(self) -> bytes:
        found = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return found
