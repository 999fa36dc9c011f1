"""The initial default of a column, which is the value of rows from before the column, never changes while it has such rows."""

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StructType,
)

from headgate.lake.errors import RuleError
from headgate.lake.initial_defaults import check_initial_defaults
from headgate.lake.metadata import parse_metadata
from tests.lake.table_v3 import TABLE_V3

PLAIN = parse_metadata(json.dumps(TABLE_V3).encode())
FREE = PLAIN.last_column_id + 1


def _column(default: Any, type: PrimitiveType | None = None, id: int = FREE) -> NestedField:
    return NestedField(id, "c", type or IntegerType(), required=False, initial_default=default)


def _table(current: int, *schemas: NestedField) -> TableMetadata:
    """Return a table whose schemas, from the id 0 on, each have one column."""
    made = [Schema(each, schema_id=id) for id, each in enumerate(schemas)]
    last = max(FREE, *(each.highest_field_id for each in made))
    return PLAIN.model_copy(update={"schemas": made, "current_schema_id": current, "last_column_id": last})


def _nested(default: int | None) -> NestedField:
    inside = StructType(_column(default, id=FREE + 2))
    return NestedField(FREE, "c", ListType(FREE + 1, inside, element_required=False), required=False)


ACCEPTED = {
    "the same default": (_column(1), _column(1)),
    "no default": (_column(None), _column(None)),
    "a default of a new column": (_column(None), _column(1, id=FREE + 5)),
    "a promoted int": (_column(1), _column(1, LongType())),
    "a promoted float": (_column(0.1, FloatType()), _column(0.10000000149011612, DoubleType())),
    "a promoted decimal": (_column(1, DecimalType(9, 2)), _column(1, DecimalType(18, 2))),
    "a nested default": (_nested(1), _nested(1)),
}
REFUSED = {
    "another default": (_column(1), _column(2)),
    "a removed default": (_column(1), _column(None)),
    "a default of an existing column": (_column(None), _column(1)),
    "a default of a column that once existed": (_column(None, id=FREE), _column(1, id=FREE - 1)),
    "another promoted default": (_column(0.1, FloatType()), _column(0.1, DoubleType())),
    "another nested default": (_nested(1), _nested(2)),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_schema_that_keeps_the_defaults_is_accepted(case: str) -> None:
    before, after = ACCEPTED[case]

    check_initial_defaults(_table(0, before), _table(1, before, after))


@pytest.mark.parametrize("case", REFUSED)
def test_a_schema_that_changes_a_default_is_refused(case: str) -> None:
    before, after = REFUSED[case]

    with pytest.raises(RuleError, match="cannot be set, changed or removed"):
        check_initial_defaults(_table(0, before), _table(1, before, after))


def test_two_new_schemas_with_different_defaults_of_a_new_column_are_refused() -> None:
    before, one, other = _column(None), _column(1, id=FREE + 5), _column(2, id=FREE + 5)

    check_initial_defaults(_table(0, before), _table(1, before, one, one))
    with pytest.raises(RuleError, match="cannot be set, changed or removed"):
        check_initial_defaults(_table(0, before), _table(1, before, one, other))


def test_a_former_schema_with_other_defaults_cannot_become_the_current_one() -> None:
    replaced = _table(1, _column(1), _column(None))

    check_initial_defaults(replaced, replaced)
    with pytest.raises(RuleError, match="cannot be set, changed or removed"):
        check_initial_defaults(replaced, _table(0, _column(1), _column(None)))
