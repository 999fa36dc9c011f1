"""Limits on the number of updates in a commit, and of objects in the metadata of a table or view.

The time of a commit grows with (its updates) x (objects in the metadata), and every load reads the whole metadata.
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
"""Updates per commit. Clients send a few for each statement. One removal per expired snapshot is usual and not counted."""
MOST_OBJECTS: Final = 1000
"""Schemas, partition specs and sort orders of a table: the limit of each kind."""
MOST_REFS: Final = 10_000
MOST_PROPERTIES: Final = 1000
LONGEST_KEY: Final = 1000
LONGEST_VALUE: Final = 100_000
LONGEST_PROPERTIES: Final = 1_000_000
"""Characters of one property's key and value, and of all properties of a view or database together.

Every user who may see the view or database loads them. Spark writes the names of all columns of a view into one property.
"""

_REMOVALS: Final = (
    RemovePartitionStatisticsUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
)
_UNUSED: Final = "to remove unused ones, call `expire_snapshots` with `clean_expired_metadata => true`"
_COUNTED: Final[Mapping[str, tuple[int, str, str]]] = {
    "schemas": (MOST_OBJECTS, "schemas", _UNUSED),
    "partition_specs": (MOST_OBJECTS, "partition specs", _UNUSED),
    "sort_orders": (MOST_OBJECTS, "sort orders", "use an existing sort order of the table"),
    "refs": (MOST_REFS, "branches and tags", "drop some of them first"),
    "properties": (MOST_PROPERTIES, "properties", "remove some of them first"),
}
"""Fields of a table's metadata that commits extend, with the limit, the name of the objects, and the advice at the limit."""


def describe_updates_fault(updates: Iterable[object]) -> str | None:
    """Return the error message if one commit has too many updates, else None."""
    counted = sum(not isinstance(each, _REMOVALS) for each in updates)
    if counted <= MOST_UPDATES:
        return None
    return f"the commit has {counted:,} updates; send at most {MOST_UPDATES:,} in one commit"


def check_updates(updates: Sequence[object]) -> None:
    """Raise `InvalidMetadataError` if one commit has too many updates, before any is applied."""
    fault = describe_updates_fault(updates)
    if fault is not None:
        raise InvalidMetadataError(fault)


def check_metadata_growth(before: TableMetadata | None, after: TableMetadata) -> None:
    """Raise `InvalidMetadataError` if a commit adds objects beyond the limit of their kind.

    A table that already exceeds a limit can be read and committed to.
    """
    for field, (most, kind, advice) in _COUNTED.items():
        if _grows(getattr(before, field, ()), getattr(after, field), most):
            raise InvalidMetadataError(f"the table would have more than {most:,} {kind}; {advice}")


def check_property_sizes(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `InvalidMetadataError` if a create or commit sets too many properties, or one that is too long.

    Properties that existed before are not checked.
    """
    if _grows(before, after, MOST_PROPERTIES):
        raise InvalidMetadataError(
            f"the view or database would have more than {MOST_PROPERTIES:,} properties; remove some of them first"
        )
    if sum(map(len, after.values())) > max(LONGEST_PROPERTIES, sum(map(len, before.values()))):
        raise InvalidMetadataError(
            f"the properties of the view or database would have more than {LONGEST_PROPERTIES:,} characters in all; "
            "shorten or remove some of them"
        )
    for key, value in after.items():
        if before.get(key) != value and (len(key) > LONGEST_KEY or len(value) > LONGEST_VALUE):
            raise InvalidMetadataError(
                f"the property `{key}` is too long: a name may have {LONGEST_KEY:,} characters and a value "
                f"{LONGEST_VALUE:,}; shorten it"
            )


def _grows(before: Sized, after: Sized, most: int) -> bool:
    return len(after) > max(most, len(before))
