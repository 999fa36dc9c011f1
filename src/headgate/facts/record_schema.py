"""Schema of facts, derived from their types; both encodings of facts (JSON and columns) use it."""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from immutables import Map


@dataclass(frozen=True, slots=True)
class ScalarShape:
    """A `str`, `bool`, `int` or `float`."""

    kind: type


@dataclass(frozen=True, slots=True)
class OptionalShape:
    """A value or None."""

    of: "Shape"


@dataclass(frozen=True, slots=True)
class ListShape:
    """Any number of values of one shape, built from an iterable of them."""

    of: "Shape"
    build: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class MapShape:
    """A mapping, built from an iterable of its items."""

    key: "Shape"
    value: "Shape"
    build: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class FieldShape:
    """A field of a record. A field that is not required has a default."""

    name: str
    shape: "Shape"
    required: bool


@dataclass(frozen=True, slots=True)
class RecordShape:
    """A dataclass."""

    kind: type
    members: tuple[FieldShape, ...]


Shape = ScalarShape | OptionalShape | ListShape | MapShape | RecordShape


@cache
def shape_of(hint: object) -> Shape:
    """Return the shape of a type. Raises `TypeError` for a type that facts cannot have."""
    if isinstance(hint, NewType):
        return shape_of(hint.__supertype__)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(arguments)
    if origin in (tuple, frozenset):
        return ListShape(shape_of(arguments[0]), origin)
    if origin in (Mapping, Map):
        return MapShape(shape_of(arguments[0]), shape_of(arguments[1]), Map if origin is Map else dict)
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint)
    if hint is str or hint is bool or hint is int or hint is float:
        return ScalarShape(hint)
    raise TypeError(f"internal error: a field of the facts has the unsupported type `{hint}`; report it")


def _one_of(hints: tuple[object, ...]) -> Shape:
    # Ids of several kinds have one shape: all are text.
    shapes = {shape_of(hint) for hint in hints if hint is not types.NoneType}
    if len(shapes) != 1:
        raise TypeError(f"internal error: a field of the facts has the unsupported union of types `{hints}`; report it")
    return OptionalShape(shapes.pop()) if types.NoneType in hints else shapes.pop()


def _record(kind: type) -> RecordShape:
    hints = get_type_hints(kind)
    defaults = {each.name: (each.default, each.default_factory) for each in fields(kind)}
    members = (
        FieldShape(name, shape_of(hints[name]), either == (MISSING, MISSING)) for name, either in defaults.items()
    )
    return RecordShape(kind, tuple(members))
