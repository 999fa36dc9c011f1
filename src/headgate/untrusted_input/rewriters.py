"""What parser processes read: rows for the gateway, files for the lake, charts. Each launcher imports what one of them needs."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from headgate.untrusted_input.frames import FILE_FRAME

Rewriter = Callable[[bytearray], Any]
"""Takes a document and returns the rewritten one, as an object with a buffer."""


class Family(StrEnum):
    """The formats that the parsers of one launcher read."""

    ROWS = "rows"
    FILES = "files"
    CHARTS = "charts"


def load_rewriters(family: Family) -> Mapping[bytes, Rewriter]:
    """Return how a document is rewritten, by its format."""
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
    """Return what a forked process calls before its limits hold.

    That is for what starts threads: the launcher cannot start them, because it forks, nor can a process with limits.
    """
    if family is Family.CHARTS:
        from headgate.untrusted_input.charts import start_engine  # noqa: PLC0415 - see above

        return start_engine
    return _prepare_nothing


def _prepare_nothing() -> None:
    """Leave the process as it was forked."""
