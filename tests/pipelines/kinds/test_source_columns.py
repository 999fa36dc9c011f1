"""Schema evolution: the columns of a table after rows with other columns."""

import pytest
from pyspark.sql.types import StructType

from headgate.pipelines.loading.schema_evolution import alter_statements, merge_schema, sql_type, table_type

pytestmark = pytest.mark.spark
"""The types are PySpark's own, which are installed together with Spark."""


def columns(**types: str) -> StructType:
    """Return columns with these types, in Spark's short notation."""
    return StructType.fromJson(
        {"type": "struct", "fields": [{"name": name, **_json(type)} for name, type in types.items()]}
    )


def _json(type: str) -> dict[str, object]:
    inner: object = type
    if type.startswith("array "):
        inner = {"type": "array", "elementType": _json(type[6:])["type"], "containsNull": True}
    elif type.startswith("struct "):
        fields = (each.split(":") for each in type[7:].split(","))
        inner = {"type": "struct", "fields": [{"name": name, **_json(kind)} for name, kind in fields]}
    return {"type": inner, "nullable": True, "metadata": {}}


@pytest.mark.parametrize(
    ("table", "rows", "said"),
    [
        (columns(a="integer"), columns(a="integer"), []),
        (columns(a="integer", b="string"), columns(B="string"), []),
        (columns(a="integer"), columns(c="short"), ["ADD COLUMN `c` INT"]),
        (columns(a="integer"), columns(a="long"), ["ALTER COLUMN `a` TYPE BIGINT"]),
        (columns(a="float"), columns(a="double"), ["ALTER COLUMN `a` TYPE DOUBLE"]),
        (columns(a="decimal(5,2)"), columns(a="decimal(9,2)"), ["ALTER COLUMN `a` TYPE DECIMAL(9,2)"]),
        (columns(a="decimal(5,2)"), columns(a="decimal(9,3)"), []),
        (columns(a="long"), columns(a="integer"), []),
        (columns(a="integer"), columns(a="string"), []),
        (columns(a="struct x:integer"), columns(a="struct x:long,y:string"), ["ALTER COLUMN `a`.`x` TYPE BIGINT", "ADD COLUMN `a`.`y` STRING"]),
        (columns(a="array struct x:integer"), columns(a="array struct y:date"), ["ADD COLUMN `a`.`element`.`y` DATE"]),
        (columns(a="array integer"), columns(a="array long"), ["ALTER COLUMN `a`.`element` TYPE BIGINT"]),
        (columns(), columns(**{"od`d;": "struct x y:integer"}), ["ADD COLUMN `od``d;` STRUCT<`x y`: INT>"]),
    ],
)  # fmt: skip
def test_new_columns_are_added_and_narrow_columns_are_widened(
    table: StructType, rows: StructType, said: list[str]
) -> None:
    after = merge_schema(table, rows)

    assert list(alter_statements(table, after)) == said
    assert list(alter_statements(after, merge_schema(after, rows))) == []


def test_types_that_no_table_can_have_are_stored_as_wider_ones() -> None:
    assert sql_type(table_type(columns(a="byte", b="struct x:short", c="array byte", d="void"))) == (
        "STRUCT<`a`: INT, `b`: STRUCT<`x`: INT>, `c`: ARRAY<INT>, `d`: STRING>"
    )
