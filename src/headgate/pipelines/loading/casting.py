"""Values of rows as a table's columns have them, and which rows do not fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import cast

from pyspark.sql import Column
from pyspark.sql.connect import functions as spark
from pyspark.sql.types import ArrayType, DataType, DecimalType, IntegerType, LongType, MapType, StringType, StructType

from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.schema_evolution import find_field, sql_type, table_type
from headgate.pipelines.sql_quoting import quote_name

_NO = spark.lit(False)  # noqa: FBT003 (a value, not a flag)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Where a row does not fit, and why, each as an expression over the row."""

    where: Column
    why: Column


def cast_columns(rows: StructType, table: StructType) -> list[Column]:
    """Return the values of all columns of a table. Raises `LoadError` for types that nothing can be made of."""
    return [_column(rows, field.name, field.dataType).alias(field.name) for field in table.fields]


def find_misfits(rows: StructType, table: StructType) -> Iterator[Misfit]:
    """Yield which rows have a value that the table's column cannot hold."""
    for field in table.fields:
        found = find_field(rows, field.name)
        where = _misfit(_column_of(found.name), found.dataType, field.dataType) if found else None
        if where is not None:
            yield Misfit(where, spark.lit(f"`{field.name}` is no {sql_type(field.dataType)}"))


def find_missing_values(columns: Sequence[str], what: str) -> Iterator[Misfit]:
    """Yield which rows have nothing in a column that every row has to have something in, for what it is there."""
    for name in columns:
        yield Misfit(_column_of(name).isNull(), spark.lit(f"`{name}` is missing, which is {what}"))


def is_misfit(found: list[Misfit]) -> Column:
    """Return whether a row is bad."""
    return reduce(or_, (spark.coalesce(each.where, _NO) for each in found), _NO)


def describe_misfits(found: list[Misfit]) -> Column:
    """Return all that is wrong with a row, in words."""
    return spark.concat_ws("; ", *(spark.when(each.where, each.why) for each in found))


def _column_of(name: str) -> Column:
    return spark.col(quote_name(name))


def _column(rows: StructType, name: str, table: DataType) -> Column:
    found = find_field(rows, name)
    if found is None:
        return spark.lit(None).cast(table)
    try:
        return _value(_column_of(found.name), found.dataType, table)
    except LoadError as error:
        raise LoadError(f"the column `{name}` {error}") from None


def _value(value: Column, rows: DataType, table: DataType) -> Column:
    if sql_type(rows) == sql_type(table):
        return value
    if isinstance(rows, StructType) and isinstance(table, StructType):
        parts = (_part(value, rows, field.name, field.dataType).alias(field.name) for field in table.fields)
        return spark.when(value.isNotNull(), spark.struct(*parts))
    if isinstance(rows, ArrayType) and isinstance(table, ArrayType):
        return spark.transform(value, lambda each: _value(each, rows.elementType, table.elementType))
    if isinstance(table, StringType) and _is_nested(rows):
        return spark.to_json(value)
    if _is_nested(rows) or _is_nested(table):
        raise LoadError(f"is {sql_type(table)} in the table and {sql_type(rows)} in what is read; say it in `columns`")
    return value.try_cast(table)


def _part(value: Column, rows: StructType, name: str, table: DataType) -> Column:
    found = find_field(rows, name)
    return _value(value.getField(found.name), found.dataType, table) if found else spark.lit(None).cast(table)


def _misfit(value: Column, rows: DataType, table: DataType) -> Column | None:
    if isinstance(rows, StructType) and isinstance(table, StructType):
        parts = [(find_field(rows, field.name), field.dataType) for field in table.fields]
        wrong = [_misfit(value.getField(part.name), part.dataType, type) for part, type in parts if part]
        found = [each for each in wrong if each is not None]
        return reduce(or_, found) if found else None
    if isinstance(rows, ArrayType) and isinstance(table, ArrayType):
        inner = rows.elementType, table.elementType
        any_can = _misfit(spark.lit(None), *inner) is not None
        return spark.exists(value, lambda each: cast(Column, _misfit(each, *inner))) if any_can else None
    if _is_nested(rows) or _fits(table_type(rows), table):
        return None
    changed = value.try_cast(table)
    # Text is what it says; a number or a time that comes back as another has lost something.
    lost = changed.isNull() if isinstance(rows, StringType) else changed.isNull() | (changed.try_cast(rows) != value)
    return value.isNotNull() & lost


def _fits(rows: DataType, table: DataType) -> bool:
    """Return whether every value of the one type is one of the other."""
    if isinstance(table, StringType) or sql_type(rows) == sql_type(table):
        return True
    if isinstance(rows, DecimalType) and isinstance(table, DecimalType):
        return table.scale >= rows.scale and table.precision - table.scale >= rows.precision - rows.scale
    return isinstance(rows, IntegerType) and isinstance(table, LongType)


def _is_nested(type: DataType) -> bool:
    return isinstance(type, StructType | ArrayType | MapType)
