"""Initial defaults of columns (format version 3): the values of a column in rows that were written before the column existed.

Source: "Default values" and "Schema Evolution" of the Iceberg specification.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import FloatType, NestedField

from headgate.lake.errors import RuleError
from headgate.lake.new_schemas import find_new_schemas


def check_initial_defaults(base: TableMetadata, metadata: TableMetadata) -> None:
    """Raise `RuleError` for an initial default that a commit sets, changes or removes: it would change values of existing rows.

    A promoted column keeps its default in the new type. Several new schemas agree on the default of a new column.
    """
    changed = list(_changed_schemas(base, metadata))
    if not changed:
        return
    known = _known_defaults(base)
    for id, default in _initial_defaults(changed):
        allowed = known.setdefault(id, {None} if id <= base.last_column_id else {default})
        if default not in allowed:
            raise RuleError(
                f"the `initial-default` of the column with the id {id} cannot be set, changed or removed, because it is the value of existing rows; set the `write-default` instead"
            )


def _changed_schemas(base: TableMetadata, metadata: TableMetadata) -> Iterator[Schema]:
    """Yield the schemas that are new, and the current one if it was not before."""
    yield from find_new_schemas(base.schemas, metadata.schemas)
    if metadata.current_schema_id != base.current_schema_id:
        yield metadata.schema()


def _known_defaults(base: TableMetadata) -> dict[int, set[str | None]]:
    """Return the default of each column: the current schema's, or for a former column that of any schema.

    A replaced table has other defaults than its former schemas.
    """
    known = dict[int, set[str | None]]()
    for id, default in _initial_defaults(base.schemas):
        known.setdefault(id, set()).add(default)
    return {**known, **{id: {default} for id, default in _initial_defaults((base.schema(),))}}


def _initial_defaults(schemas: Iterable[Schema]) -> Iterator[tuple[int, str | None]]:
    """Yield the id of each column, at any depth, with its initial default as a text."""
    for schema in schemas:
        for field in index_by_id(schema).values():
            yield field.field_id, None if field.initial_default is None else repr(_promoted(field))


def _promoted(field: NestedField) -> Any:
    """Return the default as it is after every promotion of the column's type."""
    default = field.initial_default
    # A float is written with the fewest digits, and as a double with all digits of the same number.
    return struct.unpack("f", struct.pack("f", default))[0] if isinstance(field.field_type, FloatType) else default
