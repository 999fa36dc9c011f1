"""Checks of table and view metadata that Iceberg's Java library makes and PyIceberg does not.

No Java engine can open a table or view that fails one of them.

Sources: `TableMetadata`, `ViewMetadata`, `PartitionSpec.Builder` and `SortOrder.Builder` of Apache Iceberg.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, index_by_name
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.transforms import BucketTransform, Transform, TruncateTransform, UnknownTransform, VoidTransform
from pyiceberg.types import NestedField
from pyiceberg.view.metadata import ViewMetadata

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.metadata_v1 import FIRST_VERSION, require_specs_v1
from headgate.lake.number_widths import has_width, require_widths
from headgate.lake.readable_schemas import fields_of, fields_of_structs, find_repeated, is_comparable, require_schema
from headgate.lake.snapshot_history import require_history


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a table at all levels, and the ids of those that rows can be sorted by and partitioned by."""

    by_name: Mapping[str, int]
    by_id: Mapping[int, NestedField]
    sortable: frozenset[int]
    partitionable: frozenset[int]


def require_readable(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for metadata of a table that Iceberg's Java library cannot read."""
    # Warnings of values with another type than their field are off: such values are refused below.
    require_widths(metadata.model_dump(warnings=False))
    require_history(metadata)
    _require_ids(metadata)
    for schema in metadata.schemas:
        require_schema(schema)
    columns = _columns(metadata.schema())
    for spec in metadata.partition_specs:
        _require_spec(spec, columns, is_default=spec.spec_id == metadata.default_spec_id)
    if metadata.format_version == FIRST_VERSION:
        require_specs_v1(metadata)
    for order in metadata.sort_orders:
        _require_order(order, columns, is_default=order.order_id == metadata.default_sort_order_id)


def require_readable_view(metadata: ViewMetadata) -> None:
    """Raise `InvalidMetadataError` for metadata of a view that Iceberg's Java library cannot read."""
    require_widths(metadata.model_dump())
    _require_unique("schemas", (each.schema_id for each in metadata.schemas))
    _require_unique("versions", (each.version_id for each in metadata.versions))
    for schema in metadata.schemas:
        require_schema(schema)


def _require_ids(metadata: TableMetadata) -> None:
    _require_unique("schemas", (each.schema_id for each in metadata.schemas))
    _require_unique("partition specs", (each.spec_id for each in metadata.partition_specs))
    _require_unique("sort orders", (each.order_id for each in metadata.sort_orders))
    _require_unique("snapshots", (each.snapshot_id for each in metadata.snapshots))
    if not metadata.sort_orders:
        raise InvalidMetadataError(
            "the table has no sort order; add one, or add the unsorted order, which has no fields and the id 0"
        )


def _require_unique(kind: str, ids: Iterable[int]) -> None:
    twice = find_repeated(ids)
    if twice is not None:
        raise InvalidMetadataError(f"two {kind} have the same id {twice}; give each its own id")


def _columns(schema: Schema) -> _Columns:
    by_id = {each.field_id: each for each in fields_of(schema.fields)}
    sortable = frozenset(id for id, each in by_id.items() if is_comparable(each.field_type))
    single = frozenset(each.field_id for each in fields_of_structs(schema.fields))
    return _Columns(index_by_name(schema), by_id, sortable, sortable & single)


def _require_spec(spec: PartitionSpec, columns: _Columns, *, is_default: bool) -> None:
    names = [each.name for each in spec.fields]
    if "" in names:
        raise InvalidMetadataError("a partition field has no name; give it one")
    name, id = find_repeated(names), find_repeated(each.field_id for each in spec.fields)
    if name is not None:
        raise InvalidMetadataError(
            f"two partition fields of a spec have the same name `{name}`; give each its own name"
        )
    if id is not None:
        raise InvalidMetadataError(f"two partition fields of a spec have the same id {id}; give each its own id")
    for field in spec.fields:
        if columns.by_name.get(field.name, field.source_id) != field.source_id:
            raise InvalidMetadataError(
                f"the partition field `{field.name}` has the name of a column; choose another name"
            )
        _require_transform(field.transform, columns.by_id.get(field.source_id))
        is_void = isinstance(field.transform, VoidTransform)
        if is_default and not is_void and field.source_id not in columns.partitionable:
            raise InvalidMetadataError(
                f"the column of the partition field `{field.name}` is missing, is a struct, list or map, or is inside a list "
                "or map; choose another column"
            )


def _require_order(order: SortOrder, columns: _Columns, *, is_default: bool) -> None:
    if order.is_unsorted and order.order_id != 0:
        raise InvalidMetadataError(f"the sort order without fields has the id {order.order_id}; give it the id 0")
    if not order.is_unsorted and order.order_id == 0:
        raise InvalidMetadataError("a sort order with fields has the id 0; give it another id")
    for field in order.fields:
        _require_transform(field.transform, columns.by_id.get(field.source_id))
        if is_default and field.source_id not in columns.sortable:
            raise InvalidMetadataError(
                "the table's sort order names a missing column, or a struct, list or map; choose other columns of the table"
            )


def _require_transform(transform: Transform[object, object], column: NestedField | None) -> None:
    """Raise `InvalidMetadataError` for a transform that cannot be applied to its column; a dropped column is not checked."""
    width = _width(transform)
    if width is not None and (width <= 0 or not has_width(width, 32)):
        raise InvalidMetadataError(
            f"the transform `{transform}` cannot be used: its number must be above 0 and fit into 32 bits; choose another "
            "number"
        )
    if column is None or isinstance(transform, UnknownTransform | VoidTransform):
        return
    if not is_comparable(column.field_type) or not transform.can_transform(column.field_type):
        raise InvalidMetadataError(
            f"the transform `{transform}` cannot be used for the column `{column.name}` of the type {column.field_type}; "
            "choose another transform"
        )


def _width(transform: Transform[object, object]) -> int | None:
    match transform:
        case BucketTransform():
            return transform.num_buckets
        case TruncateTransform():
            return transform.width
        case _:
            return None
