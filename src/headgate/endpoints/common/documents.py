"""Documents in bodies: any JSON object, up to a size."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator

from headgate.endpoints.common.lookup import Text

LARGEST = 256 * 1024
"""So many bytes of JSON at most."""


def _kept(document: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if size > LARGEST:
        raise ValueError(f"it has {size} bytes; {LARGEST} are the most")
    return document


Document = Annotated[dict[Text, Any], AfterValidator(_kept)]
"""A JSON object that can be written down."""
