"""Ids of schemas, partition specs and sort orders, assigned as Iceberg's own library assigns them.

PyIceberg keeps the ids that the client sends. Java opens no table in which two schemas, specs or sort orders have one id.
Source: `TableMetadata.Builder` of Apache Iceberg (`addSchema`, `addPartitionSpec`, `addSortOrder`).
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pyiceberg.partitioning import PartitionField, PartitionSpec
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
"""Where an update names a schema, spec or sort order: the one that was added last in the same commit."""

_ADDED: Final[Mapping[type, tuple[str, str]]] = {
    AddSchemaUpdate: ("schema_", "schema_id"),
    AddPartitionSpecUpdate: ("spec", "spec_id"),
    AddSortOrderUpdate: ("sort_order", "order_id"),
}
"""The field of an update that holds the new object, and the field of that object that holds its id."""
_CURRENT: Final[Mapping[type, tuple[str, type]]] = {
    SetCurrentSchemaUpdate: ("schema_id", AddSchemaUpdate),
    SetDefaultSpecUpdate: ("spec_id", AddPartitionSpecUpdate),
    SetDefaultSortOrderUpdate: ("sort_order_id", AddSortOrderUpdate),
}
"""The field of an update that holds the id to make current, and the update that adds such an object."""


class _Ids:
    """The objects of one kind by id, and the id that was assigned last."""

    def __init__(self, known: Mapping[int, Any], first: int, is_same: Callable[[Any, Any], bool]) -> None:
        self._known = dict(known)
        self._first = first
        self._is_same = is_same
        self.last = LAST_ADDED

    def add(self, new: Any) -> bool:
        """Assign an id to the object, the existing one if the table has the same object; return whether it is new."""
        same = [number for number, each in self._known.items() if self._is_same(each, new)]
        # The unsorted order always has the id 0.
        free = 0 if _is_unsorted(new) else max((*self._known, self._first - 1)) + 1
        self.last = same[0] if same else free
        self._known.setdefault(self.last, new)
        return not same

    def resolve(self, id: int) -> int:
        """Return the id that an update refers to."""
        return self.last if id == LAST_ADDED else id


def assign_ids(base: TableMetadata | None, updates: Iterable[TableUpdate]) -> Iterator[TableUpdate]:
    """Yield the updates with ids that are free in `base`, without those that add an object that `base` has already."""
    of = {
        AddSchemaUpdate: _Ids({each.schema_id: each for each in base.schemas} if base else {}, 0, operator.eq),
        AddPartitionSpecUpdate: _Ids(base.specs() if base else {}, 0, _is_same_spec),
        AddSortOrderUpdate: _Ids({each.order_id: each for each in base.sort_orders} if base else {}, 1, _is_same_order),
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


def _is_unsorted(new: Any) -> bool:
    return isinstance(new, SortOrder) and new.is_unsorted


def _is_same_spec(one: PartitionSpec, other: PartitionSpec) -> bool:
    """Return whether both specs partition rows alike; the ids of their fields do not count."""
    return [_partition(each) for each in one.fields] == [_partition(each) for each in other.fields]


def _partition(field: PartitionField) -> tuple[int, str, str]:
    return field.source_id, str(field.transform), field.name


def _is_same_order(one: SortOrder, other: SortOrder) -> bool:
    return one.fields == other.fields


def _changed(model: Any, **values: Any) -> Any:
    return model.model_copy(update=values)
