"""Number ranges in the metadata of a table or view: Java reads 32 or 64 bits, PyIceberg numbers of any size.

Sources: the parsers of Apache Iceberg (`TableMetadataParser`, `SchemaParser`, `SnapshotParser`, `ViewMetadataParser` and others).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from headgate.lake.errors import InvalidMetadataError

_INTS: Final = frozenset(
    {
        "current-schema-id",
        "current-version-id",
        "default-sort-order-id",
        "default-spec-id",
        "element-id",
        "field-id",
        "fields",
        "format-version",
        "id",
        "identifier-field-ids",
        "key-id",
        "last-column-id",
        "last-partition-id",
        "min-snapshots-to-keep",
        "order-id",
        "schema-id",
        "source-id",
        "spec-id",
        "value-id",
        "version-id",
    }
)
"""The fields whose numbers Java reads as 32 bits; the numbers of all other fields have 64 bits."""


def require_widths(document: Mapping[str, Any]) -> None:
    """Raise `InvalidMetadataError` for a number in the metadata that is too large for Java."""
    for key, number in _numbers(document, ""):
        bits = 32 if key in _INTS else 64
        if not has_width(number, bits):
            raise InvalidMetadataError(
                f"a number in the field `{key}` of the metadata is out of range; use one that fits into {bits} bits with its sign"
            )


def has_width(number: int, bits: int) -> bool:
    """Whether a signed number fits into `bits` bits."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def _numbers(value: Any, key: str) -> Iterator[tuple[str, int]]:
    """Yield every number with the name of its field, which may contain a list of numbers."""
    if isinstance(value, Mapping):
        below: Mapping[str, Any] = value
        for name, each in below.items():
            yield from _numbers(each, name)
    elif isinstance(value, list | tuple):
        items: list[Any] | tuple[Any, ...] = value
        for each in items:
            yield from _numbers(each, key)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield key, value
