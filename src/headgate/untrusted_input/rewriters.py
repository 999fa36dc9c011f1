"""What parser processes read: rows for the gateway, files for the lake. Each launcher imports what one of them needs."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

Rewriter = Callable[[bytearray], Any]
"""Takes a document and returns the rewritten one, as an object with a buffer."""


class Family(StrEnum):
    """The formats that the parsers of one launcher read."""

    ROWS = "rows"
    FILES = "files"


def load_rewriters(family: Family) -> Mapping[bytes, Rewriter]:
    """Return how a document is rewritten, by its format."""
    if family is Family.ROWS:
        from headgate.untrusted_input.arrow import rewrite_arrow  # noqa: PLC0415 - PyArrow is for these parsers only

        return {b"arrow": rewrite_arrow}
    from headgate.untrusted_input.json_documents import rewrite_json  # noqa: PLC0415 - see above
    from headgate.untrusted_input.manifests import read_manifest, read_manifest_list  # noqa: PLC0415 - see above

    return {b"json": rewrite_json, b"manifest": read_manifest, b"list": read_manifest_list}
