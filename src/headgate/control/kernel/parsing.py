"""What JSON and YAML say, read as what is expected of it."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "str | bool | int | float | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

JsonObject = Mapping[str, JsonValue]
"""A mapping: parameters of a call, or an entry of a file."""


class InvalidDocumentError(Exception):
    """What is said has not the form that it should have; the message names it."""


def entry(value: JsonValue) -> JsonObject:
    """Return a mapping. Raises `InvalidDocumentError` for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidDocumentError(f"`{value}` should be a mapping")
    return value


def list_items(value: JsonValue) -> tuple[JsonValue, ...]:
    """Return the members of a list; a single value is a list of one, nothing an empty one."""
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return (value,)


def require_text(source: JsonObject, key: str) -> str:
    """Return the word that stands under a key. Raises `InvalidDocumentError` if there is none."""
    found = source.get(key)
    if not isinstance(found, str):
        raise InvalidDocumentError(f"`{key}` is missing, or is no word")
    return found


def first_text(source: JsonObject, *keys: str) -> str | None:
    """Return the word under the first of these keys that is there; None if none is."""
    return next((require_text(source, key) for key in keys if source.get(key) is not None), None)


def word(value: JsonValue) -> str:
    """Return a single value as the word that facts hold: `true`, `false`, or as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise InvalidDocumentError("a list, an object or nothing stands where a single word is needed; write one word")


def text_tuple(value: JsonValue) -> tuple[str, ...]:
    """Return a value, or each value of a list, as words."""
    return tuple(word(each) for each in list_items(value))
