"""Schema evolution: a table's columns after rows with other columns are added, computed from types alone, without Spark."""

from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from headgate.pipelines.sql_quoting import quote_name

_KEPT_AS = (
    ((ByteType, ShortType), IntegerType()),
    ((CharType, VarcharType, NullType), StringType()),
)
"""The types that a lake table cannot have, and the type that replaces each."""


def merge_schema(table: StructType, rows: StructType) -> StructType:
    """Return the columns of a table after these rows are added: new ones at the end, existing ones widened if possible."""
    known = {field.name.lower() for field in table.fields}
    widened = [StructField(field.name, _merge_type(field.dataType, rows)) for field, rows in _pair_fields(table, rows)]
    new = [
        StructField(field.name, table_type(field.dataType)) for field in rows.fields if field.name.lower() not in known
    ]
    return StructType([*widened, *new])


def alter_statements(before: StructType, after: StructType) -> Iterator[str]:
    """Yield the rest of each `ALTER TABLE <name>` statement that changes a table's columns from `before` to `after`."""
    return _alterations(before, after, ())


def find_field(schema: StructType, name: str) -> StructField | None:
    """Return the field that Spark would find by this name, ignoring case, or None."""
    return next((field for field in schema.fields if field.name.lower() == name.lower()), None)


def table_type(type: DataType) -> DataType:
    """Return the type with which a lake table stores values of a type."""
    if isinstance(type, StructType):
        return StructType([StructField(field.name, table_type(field.dataType)) for field in type.fields])
    if isinstance(type, ArrayType):
        return ArrayType(table_type(type.elementType))
    if isinstance(type, MapType):
        return MapType(table_type(type.keyType), table_type(type.valueType))
    return next((kept for types, kept in _KEPT_AS if isinstance(type, types)), type)


def sql_type(type: DataType) -> str:
    """Return a type in SQL, with all names in it quoted."""
    if isinstance(type, StructType):
        return f"STRUCT<{', '.join(f'{quote_name(each.name)}: {sql_type(each.dataType)}' for each in type.fields)}>"
    if isinstance(type, ArrayType):
        return f"ARRAY<{sql_type(type.elementType)}>"
    if isinstance(type, MapType):
        return f"MAP<{sql_type(type.keyType)}, {sql_type(type.valueType)}>"
    return type.simpleString().upper()


def _pair_fields(table: StructType, rows: StructType) -> Iterator[tuple[StructField, DataType | None]]:
    for field in table.fields:
        found = find_field(rows, field.name)
        yield field, found.dataType if found else None


def _merge_type(table: DataType, rows: DataType | None) -> DataType:
    if isinstance(table, StructType) and isinstance(rows, StructType):
        return merge_schema(table, rows)
    if isinstance(table, ArrayType) and isinstance(rows, ArrayType):
        return ArrayType(_merge_type(table.elementType, rows.elementType))
    return rows if rows is not None and _widens(table, rows) else table


def _widens(table: DataType, rows: DataType) -> bool:
    """Whether Iceberg can widen the type `table` to the type `rows` without rewriting a row."""
    if isinstance(table, DecimalType) and isinstance(rows, DecimalType):
        return table.scale == rows.scale and table.precision < rows.precision
    return isinstance(rows, {IntegerType: LongType, FloatType: DoubleType}.get(type(table), ()))


def _alterations(before: DataType, after: DataType, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(before, StructType) and isinstance(after, StructType):
        for field in after.fields:
            inner, known = (*path, field.name), find_field(before, field.name)
            if known is None:
                yield f"ADD COLUMN {_join_path(inner)} {sql_type(field.dataType)}"
            else:
                yield from _alterations(known.dataType, field.dataType, inner)
    elif isinstance(before, ArrayType) and isinstance(after, ArrayType):
        yield from _alterations(before.elementType, after.elementType, (*path, "element"))
    elif sql_type(before) != sql_type(after):
        yield f"ALTER COLUMN {_join_path(path)} TYPE {sql_type(after)}"


def _join_path(path: tuple[str, ...]) -> str:
    return ".".join(map(quote_name, path))
