"""What table metadata must be like before it may be stored, whatever the updates were that led to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.types import DecimalType, IcebergType

from headgate.control.catalog.table_properties import describe_property_fault
from headgate.facts.ids import ResourceId
from headgate.lake.containment import is_inside
from headgate.lake.errors import InvalidMetadataError, RuleError

FORMAT_VERSION = 2
"""Version 1 can name manifests without a manifest list; PyIceberg cannot write version 3 yet."""
LONGEST_NAME = 1000
"""Characters of the name of a column."""

_ENDINGS = (".path", "impl", "location")
_COMMANDS = frozenset(
    {
        "current-snapshot-id",
        "cherry-pick-snapshot-id",
        "snapshot-count",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "uuid",
    }
)
"""Properties that engines take for a change of data or identity. As an update of a branch they are decided as one."""


def check_properties(properties: Mapping[str, str]) -> None:
    """Raise `RuleError` for a property that moves files elsewhere or loads code."""
    for key in properties:
        plain = key.strip().lower()
        if plain.endswith(_ENDINGS) or ".path." in plain:
            raise RuleError(f"the property `{key}` cannot be set: Headgate chooses where a table's files lie")
        if plain in _COMMANDS:
            raise RuleError(f"the property `{key}` cannot be set: which rows a table holds is no property")


def check_table_properties(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `RuleError` for a property that a create or commit sets and that is not listed, or not to this value.

    What the table had before stays as it is, whichever engine or version wrote it.
    """
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    for key, value in changed.items():
        fault = describe_property_fault(key, value)
        if fault is not None:
            raise RuleError(fault)


def check_defaults(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `RuleError` for a column that is given a default, which tables of format version 2 do not have.

    Engines would read it as a value of the column's type, or not read the table at all. What was there before stays.
    """
    was = tuple(before)
    new = _new_schemas(was, after)
    known = set(_defaults(was)) if new else set[tuple[str, str]]()
    for default in _defaults(new):
        if default not in known:
            raise RuleError(f"the column `{default[0]}` cannot have a default: format version 2 has none; leave it out")


def check_table_columns(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `RuleError` for a column that is given a default, or a type that tables of format version 2 do not have.

    Java adds no column to a table that has one of a newer type. What was there before stays.
    """
    was, will_be = tuple(before), tuple(after)
    check_defaults(was, will_be)
    new = tuple(_new_types(was, will_be))
    for name, type in new:
        if type.minimum_format_version() > FORMAT_VERSION:
            raise RuleError(
                f"the column `{name}` cannot have the type {type}: it needs tables of format version "
                f"{type.minimum_format_version()}, and only {FORMAT_VERSION} is supported; choose another type"
            )
    _check_decimals(new)


def check_column_names(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `InvalidMetadataError` for a column that is given a name that cannot be used. What was there before stays."""
    was = tuple(before)
    new = _new_schemas(was, after)
    known = {name for name, _ in _types(was)} if new else set[str]()
    for name, _ in _types(new):
        if name not in known:
            _check_column_name(name)


def check_view_columns(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `RuleError` or `InvalidMetadataError` for a column of a view that cannot be. What was there before stays."""
    was, will_be = tuple(before), tuple(after)
    check_defaults(was, will_be)
    check_column_names(was, will_be)
    _check_decimals(_new_types(was, will_be))


def check_metadata(metadata: TableMetadata, table: ResourceId, location: str) -> None:
    """Raise `RuleError` unless this is metadata of this table, with every file it names inside its location."""
    if str(metadata.table_uuid) != table:
        raise RuleError("a table keeps the uuid that Headgate gave it")
    if metadata.location != location:
        raise RuleError("a table keeps the location that Headgate gave it")
    if metadata.format_version != FORMAT_VERSION:
        raise RuleError(f"only tables of format version {FORMAT_VERSION} are supported")
    check_properties(metadata.properties)
    for path in list_named_files(metadata):
        if not is_inside(location, path):
            raise RuleError("a file of a table must lie inside the table's location")


def check_changed_metadata(
    base: TableMetadata | None, metadata: TableMetadata, table: ResourceId, location: str
) -> None:
    """Raise `RuleError` or `InvalidMetadataError` for what a create or commit must not do; `base` is None for a new table."""
    check_table_properties(base.properties if base else {}, metadata.properties)
    check_table_columns(base.schemas if base else (), metadata.schemas)
    check_metadata(metadata, table, location)
    check_main_branch(metadata)


def check_main_branch(metadata: TableMetadata) -> None:
    """Raise `RuleError` if the main branch is a tag: no engine could write to the table."""
    main = metadata.refs.get(MAIN_BRANCH)
    if main is not None and main.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise RuleError(f"`{MAIN_BRANCH}` cannot be a tag: no engine could write to the table; keep it a branch")


def list_named_files(metadata: TableMetadata) -> Iterator[str]:
    """Yield the files that the metadata names itself; the manifest lists name the others."""
    yield from (snapshot.manifest_list for snapshot in metadata.snapshots)
    yield from (each.statistics_path for each in metadata.statistics)
    yield from (each.statistics_path for each in metadata.partition_statistics)
    yield from (each.metadata_file for each in metadata.metadata_log)


def _check_column_name(name: str) -> None:
    if not name:
        raise InvalidMetadataError("a column has no name; give it one")
    if "\0" in name:
        raise InvalidMetadataError(f"the column `{name}` cannot have the character U+0000 in its name; leave it out")
    if len(name) > LONGEST_NAME:
        raise InvalidMetadataError(
            f"the name of the column `{name}` has more than {LONGEST_NAME:,} characters; shorten it"
        )


def _check_decimals(columns: Iterable[tuple[str, IcebergType]]) -> None:
    """Raise `InvalidMetadataError` for a column with a decimal type that Iceberg reads and Spark refuses."""
    for name, type in columns:
        if isinstance(type, DecimalType) and type.scale > type.precision:
            raise InvalidMetadataError(
                f"the column `{name}` cannot have the type {type}: the scale, its second number, must not be greater "
                "than the precision, its first; write a smaller scale"
            )


def _new_schemas(before: Sequence[Schema], after: Iterable[Schema]) -> Sequence[Schema]:
    known = {each.schema_id: each for each in before}
    return [each for each in after if known.get(each.schema_id) != each]


def _new_types(before: Sequence[Schema], after: Sequence[Schema]) -> Iterator[tuple[str, IcebergType]]:
    """Yield the name and type of each column that has not had this type under this name before."""
    new = _new_schemas(before, after)
    known = set(_types(before)) if new else set[tuple[str, IcebergType]]()
    return (each for each in _types(new) if each not in known)


def _types(schemas: Iterable[Schema]) -> Iterator[tuple[str, IcebergType]]:
    """Yield the name and type of each column, at any depth."""
    return ((field.name, field.field_type) for schema in schemas for field in index_by_id(schema).values())


def _defaults(schemas: Iterable[Schema]) -> Iterator[tuple[str, str]]:
    """Yield each column that has a default, at any depth, with what is written there."""
    for schema in schemas:
        for field in index_by_id(schema).values():
            if field.initial_default is not None or field.write_default is not None:
                yield field.name, repr((field.field_id, field.initial_default, field.write_default))
