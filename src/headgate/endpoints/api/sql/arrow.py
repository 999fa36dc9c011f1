"""Record batches as an Arrow IPC stream, piece by piece."""

import io

import pyarrow as pa


class ArrowStream:
    """Writes a stream; each call returns the bytes that it adds."""

    def __init__(self, schema: pa.Schema) -> None:
        self._sink = io.BytesIO()
        self._writer = pa.ipc.new_stream(self._sink, schema)

    def batch(self, batch: pa.RecordBatch) -> bytes:
        """Add rows."""
        self._writer.write_batch(batch)
        return self._take_written()

    def end(self) -> bytes:
        """Add the mark that these were all."""
        self._writer.close()
        return self._take_written()

    def _take_written(self) -> bytes:
        found = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return found
