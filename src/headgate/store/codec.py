"""Changes to and from JSON values, derived from their dataclass fields.

A field that a later version adds with a default can be missing in an old entry; everything else that
does not fit is refused, because a log that is half understood decides wrongly.
"""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from headgate.control.ports import StoreError
from headgate.facts.changes import Change

TAG = "change"
"""Where the type stands. Not `type`: a resource's own type is a field of that name."""

_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Change)}


def encode(change: Change) -> dict[str, Any]:
    """Return the change as a JSON object: its type under `change`, and its fields."""
    return {TAG: type(change).__name__, **_plain(change)}


def decode(value: Any) -> Change:
    """Return the change that a JSON object says. Raises `StoreError` for anything that is not one."""
    name = value.get(TAG) if isinstance(value, dict) else None
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise StoreError(
            f"the log holds a change of unknown type `{name}`; start the version of Headgate that wrote it"
        )
    return _build(kind, {key: each for key, each in value.items() if key != TAG})


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


@cache
def _shape(kind: type) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind))


def _build(kind: type, value: Any) -> Any:
    shape = _shape(kind)
    required = {field.name for field, _ in shape if field.default is MISSING and field.default_factory is MISSING}
    if not isinstance(value, dict) or not required <= value.keys() <= {field.name for field, _ in shape}:
        raise _misfit(kind.__name__)
    return kind(
        **{
            field.name: _typed(hint, value[field.name], f"{kind.__name__}.{field.name}")
            for field, hint in shape
            if field.name in value
        }
    )


def _typed(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, NewType):
        return _typed(hint.__supertype__, value, where)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(arguments[0], each, where) for each in value)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        return {_typed(arguments[0], key, where): _typed(arguments[1], each, where) for key, each in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return _build(hint, value)
    return _scalar(hint, value, where)


def _one_of(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    for hint in hints:
        try:
            return _typed(hint, value, where)
        except StoreError:
            continue
    raise _misfit(where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise _misfit(where)
    return value


def _misfit(where: str) -> StoreError:
    return StoreError(f"the log holds a `{where}` of another shape; start the version of Headgate that wrote it")
