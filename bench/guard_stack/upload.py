"""Uploads of the unmodified client: Headgate checks each artifact against its hash and serializes its Arrow rows again."""

import io
import itertools
from functools import partial

import pyarrow as pa
import pyarrow.ipc
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.effort import Effort
from bench.guard_stack.figures import rate_at_least
from bench.guard_stack.report import Outcome
from bench.guard_stack.served import Served
from bench.guard_stack.timing import in_turn

_CHUNK_ROWS = 10_000
"""The number of rows that `createDataFrame` puts into one artifact."""


def large_upload(sides: Served, effort: Effort) -> Outcome:
    """Measure the upload of artifacts with a large number of rows, each of a number and a text."""
    pairs = in_turn(
        f"{effort.rows:,} rows uploaded",
        partial(_upload, sides.plain, effort.rows, itertools.count()),
        partial(_upload, sides.guarded, effort.rows, itertools.count()),
        effort.scans,
        effort.warm_scans,
    )
    return Outcome([pairs], [rate_at_least(pairs, 50)])


def _upload(session: SparkSession, rows: int, rounds: "itertools.count[int]") -> int:
    """Upload rows that no earlier round had, because the client skips rows that the session has already.

    No plan uses them, because Spark would keep the rows of each round in the driver's memory.
    """
    start = next(rounds) * rows
    numbers = pa.array(range(start, start + rows), pa.int64())
    table = pa.table({"number": numbers, "text": numbers.cast(pa.string())})
    return len(session.client.cache_artifacts([_stream(each) for each in table.to_batches(_CHUNK_ROWS)]))


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
