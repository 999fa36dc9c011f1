"""What a stream may read beside tables, and where it may write."""

import re
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy import options
from headgate.spark.gateway.policy.values import check_name, check_options

_QUERY_NAME: Final = re.compile(r"[A-Za-z0-9_]{0,64}")
"""Spark makes a folder and a temporary view of that name."""
_TABLE_SINKS: Final = frozenset({"", "iceberg"})
_OTHER_SINKS: Final = frozenset({"memory", "noop"})
_CHECKPOINT: Final = "checkpointlocation"


def check_stream_source(source: Any) -> None:
    """Raise `RequestRefusedError` unless the source makes its rows itself: what is read from elsewhere is read by name."""
    if source.format != "rate" or source.paths or source.schema:
        raise RequestRefusedError(f"a stream reads a table or `rate`, and not `{source.format}`")
    check_options(source.options, options.RATE_READ, "option of this source")


def check_stream_sink(start: Any) -> str | None:
    """Return where the stream is to keep its checkpoint, if it says so.

    Raises `RequestRefusedError` unless it writes into a table, the session's memory, or nothing.
    """
    if not _QUERY_NAME.fullmatch(start.query_name):
        raise RequestRefusedError("the name of a streaming query is made of at most 64 letters, digits and underscores")
    sink = start.format.lower()
    if start.HasField("table_name"):
        check_name(start.table_name)
    if sink not in (_TABLE_SINKS if start.HasField("table_name") else _OTHER_SINKS):
        raise RequestRefusedError("a stream writes into an Iceberg table, `memory` or `noop`")
    places = [value for key, value in start.options.items() if key.lower() == _CHECKPOINT]
    if len(places) > 1:
        raise RequestRefusedError("a stream keeps its checkpoint in one place")
    check_options(start.options, options.TABLE_WRITE | {_CHECKPOINT}, "option of a stream's sink")
    return places[0] if places else None
