"""New schemas: those that a commit adds, and those of new tables, whose columns get new ids and lose their defaults in PyIceberg."""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType


def find_new_schemas(before: Iterable[Schema], after: Iterable[Schema]) -> Sequence[Schema]:
    """Return the schemas that are new, or different from the earlier ones with their ids."""
    known = {each.schema_id: each for each in before}
    return [each for each in after if known.get(each.schema_id) != each]


def restore_defaults(metadata: TableMetadata, schema: Schema) -> TableMetadata:
    """Return the metadata of a new table with the defaults of the schema from which it was made."""
    made = metadata.schema()
    fields = tuple(_restored(made.fields, schema.fields))
    return metadata.model_copy(update={"schemas": [made.model_copy(update={"fields": fields})]})


def _restored(made: Iterable[NestedField], asked: Iterable[NestedField]) -> Iterator[NestedField]:
    for new, old in zip(made, asked, strict=True):
        changed = {
            "field_type": _restored_type(new.field_type, old.field_type),
            "initial_default": old.initial_default,
            "write_default": old.write_default,
        }
        yield new.model_copy(update=changed)


def _restored_type(made: IcebergType, asked: IcebergType) -> IcebergType:
    match made:
        case StructType():
            below = cast("StructType", asked).fields
            return made.model_copy(update={"fields": tuple(_restored(made.fields, below))})
        case ListType():
            element = _restored_type(made.element_type, cast("ListType", asked).element_type)
            return made.model_copy(update={"element_type": element})
        case MapType():
            value = _restored_type(made.value_type, cast("MapType", asked).value_type)
            return made.model_copy(update={"value_type": value})
        case _:
            return made
