"""Schemas in text: DDL passes, JSON passes if no user-defined type is in it (Spark loads their class by name)."""

import json
from typing import Any

from headgate.spark.gateway.errors import RefusedError


class _UserDefinedTypeError(Exception):
    """The JSON names a user-defined type."""


def check_schema(text: str) -> None:
    """Raise `RefusedError` if the schema is JSON that is not plainly harmless."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return
    try:
        json.loads(text, object_pairs_hook=_check_pairs)
    except _UserDefinedTypeError:
        raise RefusedError("user-defined types are not allowed: they load classes by name") from None
    except (ValueError, RecursionError):
        raise RefusedError("the schema is neither DDL nor JSON") from None


def _check_pairs(pairs: list[tuple[str, Any]]) -> None:
    """Look at every pair, so that a repeated key hides nothing."""
    if ("type", "udt") in pairs or any(key in ("class", "pyClass", "serializedClass") for key, _ in pairs):
        raise _UserDefinedTypeError
