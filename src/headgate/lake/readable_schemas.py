"""Checks of schemas that Iceberg's Java library makes and PyIceberg does not.

Sources: `TypeUtil` and `Types` of Apache Iceberg.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, TypeVar

from pyiceberg.schema import Schema, index_by_name
from pyiceberg.types import (
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    PrimitiveType,
    StructType,
    UnknownType,
)

from headgate.lake.column_types import OpaqueType
from headgate.lake.errors import InvalidMetadataError
from headgate.lake.number_widths import has_width

T = TypeVar("T", bound=Hashable)

_NUMBER: Final = re.compile(r"\d+")
_SHAPE: Final = re.compile(r"geometry(\([^)]*\))?|geography(\([^,]*(,\s*+\w*+\s*+)?\))?", re.ASCII)
"""Geometry and geography types as Java writes them: PyIceberg quotes the text in the brackets."""


def require_schema(schema: Schema) -> None:
    """Raise `InvalidMetadataError` for a schema that Iceberg's Java library cannot read."""
    fields = list(fields_of(schema.fields))
    twice = find_repeated(each.field_id for each in fields)
    if twice is not None:
        raise InvalidMetadataError(f"two columns of a schema have the same id {twice}; give each its own id")
    try:
        index_by_name(schema)
    except ValueError as error:
        raise InvalidMetadataError(
            f"the schema {schema.schema_id} of the table or view is not valid ({error}); correct that schema"
        ) from error
    for each in fields:
        _require_type(each)
    types = {each.field_id: each.field_type for each in fields}
    if not all(is_comparable(types[id]) for id in schema.identifier_field_ids):
        raise InvalidMetadataError(
            f"an identifier field of the schema {schema.schema_id} has a type whose values cannot be compared; choose another column"
        )


def is_comparable(type: IcebergType) -> bool:
    """Whether tables can be partitioned and sorted by values of the type, and rows identified by them."""
    return isinstance(type, PrimitiveType) and not isinstance(type, OpaqueType | UnknownType)


def find_repeated(values: Iterable[T]) -> T | None:
    """Return the first value that occurs more than once, or None."""
    return next((each for each, times in Counter(values).items() if times > 1), None)


def fields_of(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    """Yield the fields of all levels, including the elements of lists and the keys and values of maps."""
    for field in fields:
        yield field
        yield from fields_of(_below(field.field_type))


def fields_of_structs(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    """Yield the fields of all levels that have one value per row."""
    for field in fields:
        yield field
        if isinstance(field.field_type, StructType):
            yield from fields_of_structs(field.field_type.fields)


def _below(type: IcebergType) -> tuple[NestedField, ...]:
    match type:
        case StructType():
            return type.fields
        case ListType():
            return (type.element_field,)
        case MapType():
            return (type.key_field, type.value_field)
        case _:
            return ()


def _require_type(field: NestedField) -> None:
    if isinstance(field.field_type, UnknownType) and (field.required or field.initial_default is not None):
        raise InvalidMetadataError(
            f"the column `{field.name}` of the type unknown is required or has a default; make it optional and leave the default out, because all its values are null"
        )
    if not _is_readable(field.field_type):
        raise InvalidMetadataError(
            f"the column `{field.name}` has a type that Iceberg's Java library cannot read; choose another type"
        )


def _is_readable(type: IcebergType) -> bool:
    match type:
        case FixedType() | DecimalType():
            return all(has_width(int(each), 32) for each in _NUMBER.findall(str(type)))
        case GeometryType() | GeographyType():
            return _SHAPE.fullmatch(str(type)) is not None
        case _:
            return True
