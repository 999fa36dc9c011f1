"""Rules that table metadata must meet before it is stored, independent of the updates that led to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.types import DecimalType, IcebergType

from headgate.control.catalog.table_properties import describe_property_fault
from headgate.facts.ids import ResourceId
from headgate.lake.commit_privileges import is_replacement
from headgate.lake.containment import is_inside
from headgate.lake.errors import InvalidMetadataError, RuleError
from headgate.lake.initial_defaults import check_initial_defaults
from headgate.lake.new_schemas import find_new_schemas
from headgate.lake.table_documents import FORMAT_VERSIONS, ROW_LINEAGE, SUPPORTED_VERSIONS

LONGEST_NAME = 1000
"""The maximum length of a column's name in characters."""

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
"""Properties that engines treat as a change of data or identity. Such a change must be an update of a branch, which is decided."""


def check_properties(properties: Mapping[str, str]) -> None:
    """Raise `RuleError` for a property that moves files, loads code, or changes the rows or the identity of a table."""
    for key in properties:
        plain = key.strip().lower()
        if plain.endswith(_ENDINGS) or ".path." in plain:
            raise RuleError(
                f"the property `{key}` cannot be set, because Headgate chooses where a table's files are; remove the property"
            )
        if plain in _COMMANDS:
            raise RuleError(
                f"the property `{key}` cannot be set, because it would change the table's rows or identity; remove the property"
            )


def check_table_properties(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `RuleError` for a property that a create or commit sets, and that is not allowed or not with this value.

    Properties that the table had before are not checked, whichever engine or version wrote them.
    """
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    for key, value in changed.items():
        fault = describe_property_fault(key, value)
        if fault is not None:
            raise RuleError(fault)


def check_no_format_version(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `RuleError` for a format version among the stored properties: it would change nothing."""
    if any(key.lower() == "format-version" and before.get(key) != value for key, value in after.items()):
        raise RuleError(
            "`format-version` cannot be stored as a property; create the table with the property in lower case, change it with "
            "`ALTER TABLE ... SET TBLPROPERTIES` in Spark, or send the update `upgrade-format-version`"
        )


def check_defaults(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `RuleError` for a new default of a column: views, and tables of format versions 1 and 2, have no defaults.

    Engines would read it as a value of the column's type, or could not read the table. Existing defaults are not checked.
    """
    was = tuple(before)
    new = find_new_schemas(was, after)
    known = set(_defaults(was)) if new else set[tuple[str, str]]()
    for default in _defaults(new):
        if default not in known:
            raise RuleError(
                f"the column `{default[0]}` cannot have a default: only tables of format version {ROW_LINEAGE} have defaults; leave the default out"
            )


def check_table_columns(base: TableMetadata | None, metadata: TableMetadata) -> None:
    """Raise `RuleError` for a column with a new default or type that the table's format version does not support."""
    was, version = base.schemas if base else (), metadata.format_version
    if version < ROW_LINEAGE:
        check_defaults(was, metadata.schemas)
    elif base is not None and _has_kept_rows(base, metadata):
        check_initial_defaults(base, metadata)
    check_column_types(was, metadata.schemas, version)


def check_column_types(before: Iterable[Schema], after: Iterable[Schema], version: int) -> None:
    """Raise `RuleError` for a column with a new type that tables of this format version do not support.

    Java cannot add a column to a table that has a column of a newer type. Existing columns are not checked.
    """
    new = tuple(_new_types(tuple(before), tuple(after)))
    for name, type in new:
        if type.minimum_format_version() > version:
            raise RuleError(
                f"the column `{name}` cannot have the type {type}: it needs a table of format version "
                f"{type.minimum_format_version()}, and the table has format version {version}; set the table property "
                f"`format-version` to `{type.minimum_format_version()}`, or choose another type"
            )
    _check_decimals(new)


def check_column_names(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `InvalidMetadataError` for a new column name that cannot be used. Existing names are not checked."""
    was = tuple(before)
    new = find_new_schemas(was, after)
    known = {name for name, _ in _types(was)} if new else set[str]()
    for name, _ in _types(new):
        if name not in known:
            _check_column_name(name)


def check_view_columns(before: Iterable[Schema], after: Iterable[Schema]) -> None:
    """Raise `RuleError` or `InvalidMetadataError` for an invalid new column of a view. Existing columns are not checked."""
    was, will_be = tuple(before), tuple(after)
    check_defaults(was, will_be)
    check_column_names(was, will_be)
    _check_decimals(_new_types(was, will_be))


def check_metadata(metadata: TableMetadata, table: ResourceId, location: str) -> None:
    """Raise `RuleError` unless the metadata is of this table, and every file that it names is inside its location."""
    if str(metadata.table_uuid) != table:
        raise RuleError(
            "the `table-uuid` of the metadata is not the table's uuid, which cannot change; send the table's own uuid"
        )
    if metadata.location != location:
        raise RuleError(
            "the `location` of the metadata is not the table's location, which cannot change; send the table's own location"
        )
    if metadata.format_version not in FORMAT_VERSIONS:
        raise RuleError(
            f"the table has format version {metadata.format_version}, which is not supported; use one of the format versions {SUPPORTED_VERSIONS}"
        )
    check_properties(metadata.properties)
    for path in list_named_files(metadata):
        if not is_inside(location, path):
            raise RuleError(
                "the metadata of the table names a file outside of the table's location; write all files below that location"
            )


def check_changed_metadata(
    base: TableMetadata | None, metadata: TableMetadata, table: ResourceId, location: str
) -> None:
    """Raise `RuleError` or `InvalidMetadataError` for an invalid create or commit; `base` is None for a new table."""
    before = base.properties if base else {}
    check_table_properties(before, metadata.properties)
    check_no_format_version(before, metadata.properties)
    check_table_columns(base, metadata)
    check_metadata(metadata, table, location)
    check_main_branch(metadata)


def check_column_ids(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for a column with an id above the table's last one: a later column would get its id again."""
    highest = max(each.highest_field_id for each in metadata.schemas)
    if highest > metadata.last_column_id:
        raise InvalidMetadataError(
            f"a schema of the table has a column with the id {highest}, which is above the table's `last-column-id`; write the highest id of all columns as `last-column-id`"
        )


def check_main_branch(metadata: TableMetadata) -> None:
    """Raise `RuleError` if the main branch is a tag: no engine could write to the table."""
    main = metadata.refs.get(MAIN_BRANCH)
    if main is not None and main.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise RuleError(
            f"`{MAIN_BRANCH}` cannot be a tag, because no engine could then write to the table; keep `{MAIN_BRANCH}` a branch"
        )


def list_named_files(metadata: TableMetadata) -> Iterator[str]:
    """Yield the files that the metadata file names directly; the manifest lists name the others."""
    yield from (snapshot.manifest_list for snapshot in metadata.snapshots)
    yield from (each.statistics_path for each in metadata.statistics)
    yield from (each.statistics_path for each in metadata.partition_statistics)
    yield from (each.metadata_file for each in metadata.metadata_log)


def _has_kept_rows(base: TableMetadata, metadata: TableMetadata) -> bool:
    """Whether a branch or tag keeps rows of before: other branches and tags keep theirs when the main branch is replaced."""
    return not is_replacement(base, metadata) or not metadata.refs.keys() <= {MAIN_BRANCH}


def _check_column_name(name: str) -> None:
    if not name:
        raise InvalidMetadataError("a column of the schema has no name; give it one")
    if "\0" in name:
        raise InvalidMetadataError(f"the column `{name}` has the character U+0000 in its name; leave the character out")
    if len(name) > LONGEST_NAME:
        raise InvalidMetadataError(
            f"the name of the column `{name}` has more than {LONGEST_NAME:,} characters; shorten it"
        )


def _check_decimals(columns: Iterable[tuple[str, IcebergType]]) -> None:
    """Raise `InvalidMetadataError` for a column with a decimal type that Iceberg accepts and Spark refuses."""
    for name, type in columns:
        if isinstance(type, DecimalType) and type.scale > type.precision:
            raise InvalidMetadataError(
                f"the column `{name}` cannot have the type {type}: the scale, its second number, must not be greater "
                "than the precision, its first; write a smaller scale"
            )


def _new_types(before: Sequence[Schema], after: Sequence[Schema]) -> Iterator[tuple[str, IcebergType]]:
    """Return the name and type of each column that did not have this name and type before."""
    new = find_new_schemas(before, after)
    known = set(_types(before)) if new else set[tuple[str, IcebergType]]()
    return (each for each in _types(new) if each not in known)


def _types(schemas: Iterable[Schema]) -> Iterator[tuple[str, IcebergType]]:
    """Return the name and type of each column, at any depth."""
    return ((field.name, field.field_type) for schema in schemas for field in index_by_id(schema).values())


def _defaults(schemas: Iterable[Schema]) -> Iterator[tuple[str, str]]:
    """Yield the name of each column that has a default, at any depth, with its id and defaults as a text."""
    for schema in schemas:
        for field in index_by_id(schema).values():
            if field.initial_default is not None or field.write_default is not None:
                yield field.name, repr((field.field_id, field.initial_default, field.write_default))
