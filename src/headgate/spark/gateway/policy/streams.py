"""Rules for streams: which sources they may read beside tables, and which sinks they may write."""

import re
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy import options
from headgate.spark.gateway.policy.values import check_name, check_options, check_write_options

_QUERY_NAME: Final = re.compile(r"[A-Za-z0-9_]{0,64}")
"""The allowed names of streaming queries: Spark creates a folder and a temporary view of that name."""
_TABLE_SINKS: Final = frozenset({"", "iceberg"})
_OTHER_SINKS: Final = frozenset({"memory", "noop"})
GENERATED: Final = {"rate": options.RATE_READ, "rate-micro-batch": options.RATE_BATCH_READ}
"""The sources that generate their rows, each with its options."""
_CHECKPOINT: Final = "checkpointlocation"


def check_stream_source(source: Any) -> None:
    """Raise `RequestRefusedError` unless the source generates its rows itself: other streams read tables by name."""
    allowed = GENERATED.get(source.format)
    if allowed is None:
        raise RequestRefusedError(
            f"a streaming query cannot read the format `{source.format}`; read a table with `readStream.table`, or use `rate`"
        )
    if source.paths or source.schema:
        raise RequestRefusedError(
            f"the streaming read of the format `{source.format}` has a path or schema; leave both out"
        )
    check_options(source.options, allowed, f"the option `{{}}` of the `{source.format}` source")


def check_stream_sink(start: Any) -> str | None:
    """Return the `checkpointLocation` of the stream, or None.

    Raises `RequestRefusedError` unless the stream writes to a table, to the session's memory, or to the `noop` sink.
    """
    if not _QUERY_NAME.fullmatch(start.query_name):
        raise RequestRefusedError(
            "the name of the streaming query is not allowed; use at most 64 letters, digits and underscores"
        )
    sink = start.format.lower()
    if start.HasField("table_name"):
        check_name(start.table_name)
        if sink not in _TABLE_SINKS:
            raise RequestRefusedError(
                "the streaming query writes to a table in a format other than Iceberg; leave the format out"
            )
    elif sink not in _OTHER_SINKS:
        raise RequestRefusedError(
            "the streaming query writes to a sink that is not allowed; write to a table of the lake with `toTable`, or use the format `memory` (and read the table of the query's name) or `noop`"
        )
    places = [value for key, value in start.options.items() if key.lower() == _CHECKPOINT]
    if len(places) > 1:
        raise RequestRefusedError("the option `checkpointLocation` is set more than once; set it once")
    check_write_options(
        start.options, options.TABLE_WRITE | {_CHECKPOINT}, "the option `{}` of the sink of a streaming query"
    )
    return places[0] if places else None
