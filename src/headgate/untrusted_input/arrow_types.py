"""Allow list of the Arrow types that Spark reads from a client, and reduction of schemas to them."""

import re
from typing import Final

import pyarrow as pa

from headgate.untrusted_input.errors import UnreadableInputError

MAX_DEPTH: Final = 64
"""The limit of levels of nested types; the same as Arrow's own."""
MAX_FIELDS: Final = 10_000
"""The limit of columns and nested fields in one schema."""

_PLAIN_TYPES: Final = frozenset(
    {
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.large_binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.duration("us"),
        pa.time64("ns"),
        pa.month_day_nano_interval(),
    }
)
_TIME_ZONE: Final = re.compile(r"[\w+:/-]{1,64}", re.ASCII)
_EXTENSION: Final = b"ARROW:extension:name"
_METADATA: Final = {
    b"variant": re.compile(rb"true"),
    b"geometry": re.compile(rb"true"),
    b"geography": re.compile(rb"true"),
    b"srid": re.compile(rb"-?\d{1,10}|ANY|any"),
}
"""The metadata keys by which Spark interprets a struct of binaries. Other keys, such as those of pandas, are removed."""
_LONGEST_NAME: Final = 60


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with only the metadata that Spark reads. Raises `UnreadableInputError`."""
    require_plain_schema(schema)
    return pa.schema([_plain(field) for field in schema])


def require_plain_schema(schema: pa.Schema) -> None:
    """Raise `UnreadableInputError` for types that Spark does not read and write, and for too many or too deeply nested fields."""
    fields = _Fields()
    for field in schema:
        fields.require_plain(field, 1)


class _Fields:
    """Checks the fields of one schema, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def require_plain(self, field: pa.Field, depth: int) -> None:
        self._count += 1
        if self._count > MAX_FIELDS:
            raise UnreadableInputError(
                f"the rows have more than {MAX_FIELDS:,} columns and nested fields; use fewer columns"
            )
        if depth > MAX_DEPTH:
            raise UnreadableInputError(
                f"the types of the columns are nested more than {MAX_DEPTH} levels deep; flatten the columns"
            )
        if _EXTENSION in (field.metadata or {}) or not _is_plain(field.type):
            raise _unsupported(field)
        for each in _nested(field.type):
            self.require_plain(each, depth + 1)


def _is_plain(kind: pa.DataType) -> bool:
    # Compared by class, not with `isinstance`: an extension type is none of these classes.
    nests = type(kind) in (pa.StructType, pa.ListType, pa.MapType)
    return nests or kind in _PLAIN_TYPES or pa.types.is_decimal128(kind) or _is_zoned_timestamp(kind)


def _nested(kind: pa.DataType) -> list[pa.Field]:
    if type(kind) is pa.StructType:
        return [kind.field(index) for index in range(kind.num_fields)]
    if type(kind) is pa.ListType:
        return [kind.value_field]
    return [kind.key_field, kind.item_field] if type(kind) is pa.MapType else []


def _plain(field: pa.Field) -> pa.Field:
    """Return the field with only the metadata that Spark reads."""
    return pa.field(field.name, _plain_type(field.type), field.nullable, _plain_metadata(field))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    nested = [_plain(each) for each in _nested(kind)]
    if type(kind) is pa.StructType:
        return pa.struct(nested)
    if type(kind) is pa.ListType:
        return pa.list_(*nested)
    return pa.map_(*nested, kind.keys_sorted) if type(kind) is pa.MapType else kind


def _is_zoned_timestamp(kind: pa.DataType) -> bool:
    if type(kind) is not pa.TimestampType or kind.unit != "us" or kind.tz is None:
        return False
    return _TIME_ZONE.fullmatch(kind.tz) is not None


def _plain_metadata(field: pa.Field) -> dict[bytes, bytes]:
    given = field.metadata or {}
    return {key: value for key, value in given.items() if key in _METADATA and _METADATA[key].fullmatch(value)}


def _unsupported(field: pa.Field) -> UnreadableInputError:
    name, kind = field.name[:_LONGEST_NAME], str(field.type)[:_LONGEST_NAME]
    return UnreadableInputError(
        f"the column `{name}` has the Arrow type `{kind}`, which is not supported; cast it to a string"
    )
