"""Which properties and defaults a create or a commit may set; properties that a table had before stay."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    UnknownType,
)

from headgate.lake.column_types import OpaqueType
from headgate.lake.errors import InvalidMetadataError, RuleError
from headgate.lake.metadata_rules import (
    LONGEST_NAME,
    check_column_names,
    check_column_types,
    check_defaults,
    check_table_properties,
    check_view_columns,
)

Check = Callable[[Iterable[Schema], Iterable[Schema]], None]

FORMER = {"write.parquet.bloom-filter-fpp.column.a": "0.01", "encryption.key-id": "k", "write.format.default": "csv"}


def test_an_unlisted_property_that_a_commit_does_not_change_is_accepted() -> None:
    check_table_properties(FORMER, {**FORMER, "write.format.default": "orc"})


def test_an_unlisted_property_can_be_removed() -> None:
    check_table_properties(FORMER, {})


@pytest.mark.parametrize("changed", [{"encryption.key-id": "other"}, {"write.spark.accept-any-schema": "true"}])
def test_an_unlisted_property_cannot_be_set(changed: dict[str, str]) -> None:
    with pytest.raises(RuleError, match="cannot be set on a table"):
        check_table_properties(FORMER, {**FORMER, **changed})


def test_a_new_table_with_unlisted_properties_is_refused() -> None:
    with pytest.raises(RuleError):
        check_table_properties({}, FORMER)


def test_an_existing_column_default_is_accepted_and_a_new_one_is_refused() -> None:
    former = NestedField(1, "old", StringType(), initial_default="x")
    changed = NestedField(1, "old", StringType(), initial_default="y")

    check_defaults([Schema(former)], [Schema(former, NestedField(2, "new", StringType()))])
    with pytest.raises(RuleError, match="`old` cannot have a default"):
        check_defaults([Schema(former)], [Schema(changed)])


@pytest.mark.parametrize(
    "newer", [TimestampNanoType(), TimestamptzNanoType(), UnknownType(), OpaqueType("variant")], ids=str
)
def test_an_existing_type_of_a_newer_format_is_accepted_and_a_new_one_is_refused(newer: PrimitiveType) -> None:
    former = NestedField(1, "old", newer)
    nested = NestedField(2, "pair", StructType(NestedField(3, "new", newer)))

    check_column_types([Schema(former)], [Schema(former, NestedField(2, "new", StringType()))], 2)
    check_column_types([Schema(former)], [Schema(former, nested)], 3)
    with pytest.raises(RuleError, match="`new` cannot have the type"):
        check_column_types([Schema(former)], [Schema(former, nested)], 2)


@pytest.mark.parametrize("check", [partial(check_column_types, version=2), check_view_columns])
def test_an_existing_decimal_with_too_large_a_scale_is_accepted_and_a_new_one_is_refused(check: Check) -> None:
    former = NestedField(1, "old", DecimalType(38, 39))
    nested = NestedField(2, "pair", StructType(NestedField(3, "new", DecimalType(5, 6))))

    check([Schema(former)], [Schema(former, NestedField(2, "new", DecimalType(38, 38)))])
    with pytest.raises(InvalidMetadataError, match=r"`new` cannot have the type decimal\(5, 6\)"):
        check([Schema(former)], [Schema(former, nested)])


@pytest.mark.parametrize("check", [check_column_names, check_view_columns])
@pytest.mark.parametrize("name", ["", "a\0b", "x" * (LONGEST_NAME + 1)], ids=["empty", "U+0000", "long"])
def test_an_existing_invalid_column_name_is_accepted_and_a_new_one_is_refused(check: Check, name: str) -> None:
    former = NestedField(1, name, StringType())
    fine = NestedField(2, "x" * LONGEST_NAME, StringType())

    check([Schema(former)], [Schema(former, fine)])
    with pytest.raises(InvalidMetadataError, match="name"):
        check([Schema(fine)], [Schema(fine, NestedField(3, "pair", StructType(former)))])
    with pytest.raises(InvalidMetadataError, match="name"):
        check([Schema(fine, schema_id=0)], [Schema(fine, schema_id=0), Schema(former, schema_id=1)])
