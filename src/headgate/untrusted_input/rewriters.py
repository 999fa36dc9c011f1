"""Formats of parser processes: rows for the gateway, files for the lake, charts. A launcher imports one family's modules."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from headgate.untrusted_input.frames import FILE_FRAME

Rewriter = Callable[[bytearray], Any]
"""Rewrites a document; the result is an object with the buffer protocol."""


class Family(StrEnum):
    """The formats that the parsers of one launcher read."""

    ROWS = "rows"
    FILES = "files"
    CHARTS = "charts"


def load_rewriters(family: Family) -> Mapping[bytes, Rewriter]:
    """Return format -> function that rewrites its documents."""
    if family is Family.ROWS:
        from headgate.untrusted_input.arrow import rewrite_arrow  # noqa: PLC0415 - PyArrow is for these parsers only

        return {b"arrow": rewrite_arrow}
    if family is Family.CHARTS:
        from headgate.untrusted_input.charts import draw_chart  # noqa: PLC0415 - see above

        return {b"chart": draw_chart}
    from headgate.untrusted_input.json_documents import rewrite_json  # noqa: PLC0415 - see above
    from headgate.untrusted_input.manifests import read_manifest, read_manifest_list  # noqa: PLC0415 - see above
    from headgate.untrusted_input.parquet import check_parquet  # noqa: PLC0415 - see above

    def check(_: bytearray) -> bytes:
        check_parquet(FILE_FRAME)
        return b""

    return {b"json": rewrite_json, b"manifest": read_manifest, b"list": read_manifest_list, b"parquet": check}


def load_preparation(family: Family) -> Callable[[], None]:
    """Return the function that a forked process calls before its limits apply.

    It starts threads: the launcher must not start them, because it forks, and a process with limits cannot.
    """
    if family is Family.CHARTS:
        from headgate.untrusted_input.charts import start_engine  # noqa: PLC0415 - see above

        return start_engine
    return _prepare_nothing


def _prepare_nothing() -> None:
    """Do nothing: the family needs no threads."""
