"""Checks of schemas and column metadata: no class names, and no SQL text that Spark would evaluate before the guard sees it."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.ml_values import PYTHON_CLASSES
from headgate.spark.gateway.policy.options import METADATA_KEYS

MAX_SCHEMA_BYTES: Final = 4 * 1024 * 1024
_DEFAULTS: Final = frozenset({"CURRENT_DEFAULT", "EXISTS_DEFAULT"})
"""The metadata keys with the SQL text of a column's default."""
_OF_USER_DEFINED: Final = frozenset({"class", "pyClass", "serializedClass"})
_VECTOR_TYPES: Final = tuple(
    {"type": "udt", "class": jvm_class, "pyClass": python_class} for jvm_class, python_class in PYTHON_CLASSES.items()
)
_MAX_NESTING: Final = 200
_NOTE: Final = re.compile(r"[a-z][a-z0-9_-]*")
_USER_DEFINED: Final = "user-defined types are not allowed: they load classes by name; use a built-in type"
_NO_DEFAULT: Final = (
    "the schema sets the default of a column, which is not allowed; leave the default out and use `coalesce` instead"
)


class _Pairs(list[tuple[str, Any]]):
    """The pairs of one JSON object, including repeated keys."""


def check_schema(text: str) -> None:
    """Raise `RequestRefusedError` for JSON with a user-defined type, a default or unknown metadata, and for deeply nested DDL."""
    if text.lstrip().startswith(("{", "[", '"')):
        _check_json(text, _check_type_pairs)
    if text.count("<") > _MAX_NESTING or text.count("/*") > _MAX_NESTING:
        _check_nesting(text)


def _check_nesting(text: str) -> None:
    """Raise `RequestRefusedError` for deeply nested types or comments: Spark's parser takes longer and longer for each level."""
    for opening, closing in (("<", ">"), ("/*", "*/")):
        levels = 0
        for sign in re.findall(f"{re.escape(opening)}|{re.escape(closing)}", text):
            levels = max(levels + (1 if sign == opening else -1), 0)
            if levels > _MAX_NESTING:
                raise RequestRefusedError(
                    f"the schema nests types or SQL comments (`/*`) more than {_MAX_NESTING} levels deep; use fewer levels"
                )


def check_schema_metadata(text: str) -> None:
    """Raise `RequestRefusedError` unless the column metadata is JSON that has only keys that a client may write."""
    if text:
        _check_keys(key for key, _ in _check_json(text, _check_pairs))


def _check_json(text: str, check: Callable[[list[tuple[str, Any]]], _Pairs]) -> _Pairs:
    """Check each object, and return the pairs of the outermost one. Pairs, not a dictionary: a repeated key must hide nothing."""
    try:
        found = json.loads(text, object_pairs_hook=check)
    except (ValueError, RecursionError):
        raise RequestRefusedError("the schema is neither DDL nor JSON; write it as `a INT, b STRING`") from None
    return found if isinstance(found, _Pairs) else _Pairs()


def _check_type_pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    is_user_defined = ("type", "udt") in pairs or any(key in _OF_USER_DEFINED for key, _ in pairs)
    if is_user_defined and not _is_vector_type(pairs):
        raise RequestRefusedError(_USER_DEFINED)
    for key, value in pairs:
        if key == "metadata" and isinstance(value, _Pairs):
            _check_keys(each for each, _ in value)
    return _check_pairs(pairs)


def _is_vector_type(pairs: list[tuple[str, Any]]) -> bool:
    """Whether this is Spark's own type of vectors or matrices, exactly as Spark writes it."""
    written = {key: value for key, value in pairs if key != "sqlType"}
    return len(pairs) == len(written) + 1 and written in _VECTOR_TYPES


def _check_pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    if any(key in _DEFAULTS for key, _ in pairs):
        raise RequestRefusedError(_NO_DEFAULT)
    return _Pairs(pairs)


def _check_keys(keys: Iterable[str]) -> None:
    for key in keys:
        if key not in METADATA_KEYS and not _NOTE.fullmatch(key):
            raise RequestRefusedError(
                f"the column metadata key `{key}` is not allowed; use lower-case letters, digits, `_` and `-`, and begin with a letter"
            )
