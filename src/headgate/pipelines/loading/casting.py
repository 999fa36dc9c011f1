"""Casts of row values to the column types of a table, and conditions for the rows that do not fit."""

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
    """A condition for rows that do not fit, and the reason, each as an expression over the row."""

    where: Column
    why: Column


def cast_columns(rows: StructType, table: StructType) -> list[Column]:
    """Return the values of all columns of a table. Raises `LoadError` for a type that cannot be cast to the column's."""
    return [_column(rows, field.name, field.dataType).alias(field.name) for field in table.fields]


def find_misfits(rows: StructType, table: StructType) -> Iterator[Misfit]:
    """Yield a misfit per column, for rows with a value that the table's column cannot hold."""
    for field in table.fields:
        found = find_field(rows, field.name)
        where = _misfit(_column_of(found.name), found.dataType, field.dataType) if found else None
        if where is not None:
            yield Misfit(where, spark.lit(f"`{field.name}` is not a valid {sql_type(field.dataType)}"))


def find_missing_values(columns: Sequence[str], what: str) -> Iterator[Misfit]:
    """Yield a misfit per required column, for rows without a value in it. `what` is the purpose of the columns."""
    for name in columns:
        yield Misfit(_column_of(name).isNull(), spark.lit(f"`{name}` ({what}) is missing"))


def is_misfit(found: list[Misfit]) -> Column:
    """Return the condition that a row has any of the misfits."""
    return reduce(or_, (spark.coalesce(each.where, _NO) for each in found), _NO)


def describe_misfits(found: list[Misfit]) -> Column:
    """Return the reasons of all misfits of a row, as one text."""
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
        raise LoadError(f"the column `{name}` cannot be loaded: {error}") from None


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
        raise LoadError(
            f"its type {sql_type(rows)} in the data cannot be cast to its type {sql_type(table)} in the table; declare its "
            "type in `columns`"
        )
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
    # A text only has to be castable. A number or a time must also be unchanged by the cast and back: else it lost precision.
    lost = changed.isNull() if isinstance(rows, StringType) else changed.isNull() | (changed.try_cast(rows) != value)
    return value.isNotNull() & lost


def _fits(rows: DataType, table: DataType) -> bool:
    """Whether every value of the type `rows` is a value of the type `table`."""
    if isinstance(table, StringType) or sql_type(rows) == sql_type(table):
        return True
    if isinstance(rows, DecimalType) and isinstance(table, DecimalType):
        return table.scale >= rows.scale and table.precision - table.scale >= rows.precision - rows.scale
    return isinstance(rows, IntegerType) and isinstance(table, LongType)


def _is_nested(type: DataType) -> bool:
    return isinstance(type, StructType | ArrayType | MapType)
