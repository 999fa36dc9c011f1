"""Ids of schemas, partition specs and sort orders, assigned as Iceberg's own library assigns them.

PyIceberg keeps the ids that the client sends. Java cannot open a table in which two schemas, specs or sort orders have the
same id.
Source: `TableMetadata.Builder` of Apache Iceberg (`addSchema`, `addPartitionSpec`, `addSortOrder`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Final

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AddSortOrderUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSortOrderUpdate,
    SetDefaultSpecUpdate,
    TableUpdate,
)

LAST_ADDED: Final = -1
"""The id in an update that means the schema, spec or sort order that was added last in the same commit."""

_ADDED: Final[Mapping[type, tuple[str, str]]] = {
    AddSchemaUpdate: ("schema_", "schema_id"),
    AddPartitionSpecUpdate: ("spec", "spec_id"),
    AddSortOrderUpdate: ("sort_order", "order_id"),
}
"""Per update: its field with the new object, and that object's field with its id."""
_CURRENT: Final[Mapping[type, tuple[str, type]]] = {
    SetCurrentSchemaUpdate: ("schema_id", AddSchemaUpdate),
    SetDefaultSpecUpdate: ("spec_id", AddPartitionSpecUpdate),
    SetDefaultSortOrderUpdate: ("sort_order_id", AddSortOrderUpdate),
}
"""Per update: its field with the id to make current, and the update that adds objects of that kind."""


class _Ids:
    """The ids of the objects of one kind by the objects' content, and the id that was assigned last."""

    def __init__(self, known: Mapping[int, Any], first: int, key: Callable[[Any], Hashable]) -> None:
        self._known = dict(known)
        self._key = key
        self._ids: dict[Hashable, int] | None = None
        self._next = max((*known, first - 1)) + 1
        self.last = LAST_ADDED

    def add(self, new: Any) -> bool:
        """Assign an id to the object, the existing one if the table has the same object; return whether it is new."""
        if self._ids is None:
            # From the last to the first: of two equal objects, the first one's id is used.
            self._ids = {self._key(each): id for id, each in reversed(self._known.items())}
        key = self._key(new)
        found = self._ids.get(key)
        # The unsorted order always has the id 0.
        self.last = (0 if _is_unsorted(new) else self._next) if found is None else found
        self._ids[key] = self.last
        self._next = max(self._next, self.last + 1)
        return found is None

    def resolve(self, id: int) -> int:
        """Return the id that an update refers to."""
        return self.last if id == LAST_ADDED else id


def assign_ids(base: TableMetadata | None, updates: Iterable[TableUpdate]) -> Iterator[TableUpdate]:
    """Yield the updates with ids that are free in `base`, leaving out those that add an object that `base` already has."""
    of = {
        AddSchemaUpdate: _Ids({each.schema_id: each for each in base.schemas} if base else {}, 0, schema_key),
        AddPartitionSpecUpdate: _Ids(base.specs() if base else {}, 0, _spec_key),
        AddSortOrderUpdate: _Ids({each.order_id: each for each in base.sort_orders} if base else {}, 1, _order_key),
    }
    for update in updates:
        kind: type = type(update)
        if kind in _ADDED:
            field, number = _ADDED[kind]
            new = getattr(update, field)
            if of[kind].add(new):
                yield _changed(update, **{field: _changed(new, **{number: of[kind].last})})
        elif kind in _CURRENT:
            field, added = _CURRENT[kind]
            yield _changed(update, **{field: of[added].resolve(getattr(update, field))})
        else:
            yield update


def schema_key(schema: Schema) -> Hashable:
    """Return the content of a schema without its id: two schemas are equal if their keys are equal."""
    # Warnings of values with another type than their field are off: the metadata is refused when it is parsed.
    return schema.model_dump_json(exclude={"schema_id"}, warnings=False)


def _spec_key(spec: PartitionSpec) -> Hashable:
    """Return how a spec partitions rows, without the ids of its fields."""
    return tuple((each.source_id, str(each.transform), each.name) for each in spec.fields)


def _order_key(order: SortOrder) -> Hashable:
    return tuple((each.source_id, str(each.transform), each.direction, each.null_order) for each in order.fields)


def _is_unsorted(new: Any) -> bool:
    return isinstance(new, SortOrder) and new.is_unsorted


def _changed(model: Any, **values: Any) -> Any:
    return model.model_copy(update=values)
