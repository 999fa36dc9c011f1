"""Parsing of JSON and YAML values into the expected types."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "str | bool | int | float | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

JsonObject = Mapping[str, JsonValue]
"""A mapping: parameters of a call, or an entry of a file."""


class InvalidDocumentError(Exception):
    """A value does not have the expected form; the message names it."""


def entry(value: JsonValue) -> JsonObject:
    """Return a mapping. Raises `InvalidDocumentError` for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidDocumentError(f"`{value}` is not a mapping; write a mapping of names to values")
    return value


def list_items(value: JsonValue) -> tuple[JsonValue, ...]:
    """Return the members of a list; a single value counts as a list of one, None as an empty list."""
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return (value,)


def require_text(source: JsonObject, key: str) -> str:
    """Return the string of a key. Raises `InvalidDocumentError` if it is missing or has another type."""
    found = source.get(key)
    if found is None:
        raise InvalidDocumentError(f"`{key}` is missing; add it")
    if not isinstance(found, str):
        raise InvalidDocumentError(f"`{key}` must be a string; write its value in quotes")
    return found


def first_text(source: JsonObject, *keys: str) -> str | None:
    """Return the string of the first of these keys that has a value; None if none has one."""
    return next((require_text(source, key) for key in keys if source.get(key) is not None), None)


def word(value: JsonValue) -> str:
    """Return a single value as a word of the facts: `true`, `false`, or the value as a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise InvalidDocumentError(
        "the value is a list, an object or null, but a single value is needed; write a string, a number, true or false"
    )


def text_tuple(value: JsonValue) -> tuple[str, ...]:
    """Return a value, or each value of a list, as a word."""
    return tuple(word(each) for each in list_items(value))
