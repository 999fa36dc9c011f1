"""How many updates one commit has, and how many objects of a kind the metadata of a table or view has.

The time of a commit grows with its updates times the objects of the metadata, and every load reads what a commit leaves.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Final

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    RemovePartitionStatisticsUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
)

from headgate.lake.errors import InvalidMetadataError

MOST_UPDATES: Final = 1000
"""Clients send a few for each statement. Those that expire snapshots send a removal for each, which is not counted."""
MOST_OBJECTS: Final = 1000
"""Schemas, partition specs and sort orders of a table, each."""
MOST_REFS: Final = 10_000
MOST_PROPERTIES: Final = 1000
LONGEST_KEY: Final = 1000
LONGEST_VALUE: Final = 100_000
LONGEST_PROPERTIES: Final = 1_000_000
"""Characters of one property of a view or database, and of all of them: everybody that may see it loads them. Spark writes the names of all columns of a view into one."""

_REMOVALS: Final = (
    RemovePartitionStatisticsUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
)
_UNUSED: Final = "expire snapshots with `clean_expired_metadata => true` to remove unused ones"
_COUNTED: Final[Mapping[str, tuple[int, str, str]]] = {
    "schemas": (MOST_OBJECTS, "schemas", _UNUSED),
    "partition_specs": (MOST_OBJECTS, "partition specs", _UNUSED),
    "sort_orders": (MOST_OBJECTS, "sort orders", "use one of those that the table has"),
    "refs": (MOST_REFS, "branches and tags", "drop some first"),
    "properties": (MOST_PROPERTIES, "properties", "remove some first"),
}
"""The fields of a table's metadata that commits add to, with the bound, what they hold, and what to do at the bound."""


def describe_updates_fault(updates: Iterable[object]) -> str | None:
    """Return why one commit cannot have this many updates, or None if it can."""
    counted = sum(not isinstance(each, _REMOVALS) for each in updates)
    if counted <= MOST_UPDATES:
        return None
    return f"a commit has at most {MOST_UPDATES:,} updates, and this one has {counted:,}; send several commits"


def check_updates(updates: Sequence[object]) -> None:
    """Raise `InvalidMetadataError` if one commit has too many updates, before any is applied."""
    fault = describe_updates_fault(updates)
    if fault is not None:
        raise InvalidMetadataError(fault)


def check_metadata_growth(before: TableMetadata | None, after: TableMetadata) -> None:
    """Raise `InvalidMetadataError` if a commit adds objects of a kind of which the table has too many.

    A table that has more already can be read and committed to.
    """
    for field, (most, kind, advice) in _COUNTED.items():
        if _grows(getattr(before, field, ()), getattr(after, field), most):
            raise InvalidMetadataError(f"a table has at most {most:,} {kind}; {advice}")


def check_property_sizes(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `InvalidMetadataError` if a create or commit sets too many properties, or one that is too long.

    What was there before stays as it is.
    """
    if _grows(before, after, MOST_PROPERTIES):
        raise InvalidMetadataError(f"there can be at most {MOST_PROPERTIES:,} properties; remove some")
    if sum(map(len, after.values())) > max(LONGEST_PROPERTIES, sum(map(len, before.values()))):
        raise InvalidMetadataError(
            f"all properties together can have at most {LONGEST_PROPERTIES:,} characters; shorten some"
        )
    for key, value in after.items():
        if before.get(key) != value and (len(key) > LONGEST_KEY or len(value) > LONGEST_VALUE):
            raise InvalidMetadataError(
                f"the property `{key}` is too long: its name has at most {LONGEST_KEY:,} characters and its value at most "
                f"{LONGEST_VALUE:,}; shorten it"
            )


def _grows(before: Sized, after: Sized, most: int) -> bool:
    return len(after) > max(most, len(before))
