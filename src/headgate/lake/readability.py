"""What Iceberg's Java library asks of a table's metadata, beyond what PyIceberg asks: without it no Java engine opens the table.

Sources: `TableMetadata`, `TypeUtil`, `PartitionSpec.Builder` and `SortOrder.Builder` of Apache Iceberg.
"""

from collections.abc import Iterable, Iterator, Mapping

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, index_by_name
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import (
    BucketTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
)
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, PrimitiveType, StructType

from headgate.lake.errors import InvalidError


def require_readable(metadata: TableMetadata) -> None:
    """Raise `InvalidError` for schemas, partition specs and sort orders that Java does not read."""
    for schema in metadata.schemas:
        _require_schema(schema)
    columns = {each.field_id: each for each in _fields(metadata.schema().fields)}
    by_name = index_by_name(metadata.schema())
    for spec in metadata.partition_specs:
        _require_spec(spec, by_name, columns)
    for order in metadata.sort_orders:
        for field in order.fields:
            _require_transform(field.transform, columns.get(field.source_id))


def in_order(base: TableMetadata | None, metadata: TableMetadata) -> TableMetadata:
    """Return the metadata with times that do not go back, as clients' clocks do: Java asks for that.

    What became current at a commit did so after what was current before it, whatever time its snapshot has.
    """
    log = list(metadata.snapshot_log)
    for position in range(1, len(log)):
        earlier = log[position - 1].timestamp_ms
        if log[position].timestamp_ms < earlier:
            log[position] = log[position].model_copy(update={"timestamp_ms": earlier})
    times = [each.timestamp_ms for each in (*log[-1:], *metadata.metadata_log[-1:])]
    latest = max(metadata.last_updated_ms, *times, base.last_updated_ms if base else 0)
    return metadata.model_copy(update={"snapshot_log": log, "last_updated_ms": latest})


def _require_schema(schema: Schema) -> None:
    ids = [each.field_id for each in _fields(schema.fields)]
    if len(ids) != len(set(ids)):
        raise InvalidError("two columns of a schema have one id; give each its own")
    try:
        index_by_name(schema)
    except ValueError as error:
        raise InvalidError(f"a schema cannot be read: {error}") from error


def _fields(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    """Yield the fields of all levels, with the elements of lists and the keys and values of maps."""
    for field in fields:
        yield field
        yield from _fields(_below(field.field_type))


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


def _require_spec(spec: PartitionSpec, by_name: Mapping[str, int], columns: Mapping[int, NestedField]) -> None:
    names, ids = [each.name for each in spec.fields], [each.field_id for each in spec.fields]
    if len(names) != len(set(names)) or "" in names or len(ids) != len(set(ids)):
        raise InvalidError("two partition fields of a spec have one name or one id, or one has no name")
    for field in spec.fields:
        named = by_name.get(field.name)
        is_its_own = isinstance(field.transform, IdentityTransform) and named == field.source_id
        if named is not None and not is_its_own:
            raise InvalidError(f"the partition field `{field.name}` has the name of a column; choose another name")
        _require_transform(field.transform, columns.get(field.source_id))


def _require_transform(transform: Transform[object, object], column: NestedField | None) -> None:
    """Raise `InvalidError` for a transform that does not take its column. One whose column has been dropped takes any."""
    width = _width(transform)
    if width is not None and width <= 0:
        raise InvalidError(f"`{transform}` cannot be used: its number must be above 0")
    if column is None or isinstance(transform, UnknownTransform | VoidTransform):
        return
    if not isinstance(column.field_type, PrimitiveType) or not transform.can_transform(column.field_type):
        raise InvalidError(
            f"`{transform}` cannot be used for the column `{column.name}` of the type {column.field_type}"
        )


def _width(transform: Transform[object, object]) -> int | None:
    match transform:
        case BucketTransform():
            return transform.num_buckets
        case TruncateTransform():
            return transform.width
        case _:
            return None
