"""Table metadata: created, updated, and parsed from a metadata file. PyIceberg implements the format."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import (
    TableRequirement,
    TableUpdate,
    UpgradeFormatVersionUpdate,
    update_table_metadata,
)

from headgate.facts.ids import ResourceId
from headgate.lake.commit_limits import check_metadata_growth, check_updates
from headgate.lake.commit_removals import Removals
from headgate.lake.errors import ConflictError, InvalidMetadataError
from headgate.lake.java_metadata_rules import require_readable
from headgate.lake.metadata_ids import assign_ids
from headgate.lake.metadata_rules import (
    check_column_names,
    check_column_types,
    check_defaults,
    check_no_format_version,
    check_table_properties,
)
from headgate.lake.metadata_v1 import check_no_sequence_number
from headgate.lake.new_schemas import restore_defaults
from headgate.lake.row_lineage import find_next_row_id
from headgate.lake.snapshot_history import in_order
from headgate.lake.table_documents import (
    FORMAT_VERSIONS,
    ROW_LINEAGE,
    SUPPORTED_VERSIONS,
    convert_metadata,
    parse_table_document,
)
from headgate.lake.table_updates import list_added_snapshots
from headgate.lake.validation import require_valid

_MOST_AHEAD = 1000
"""The limit of a snapshot's sequence number above the table's last one: after the largest number no commit could follow."""
_NEW_TABLE_PROPERTIES: Final = {"write.parquet.compression-codec": "zstd"}
"""The properties of a new table that its creator does not set, as every Java catalog writes them: without them, writers use gzip."""
_FORMAT_VERSION: Final = TableProperties.FORMAT_VERSION
_DEFAULT_VERSION: Final = UpgradeFormatVersionUpdate.model_validate(
    {"format-version": TableProperties.DEFAULT_FORMAT_VERSION}
)
"""The update of a new table whose creator does not choose a format version."""
_VERSION = re.compile(r"/(\d+)-[^/]*\.metadata\.json$")


@dataclass(frozen=True, slots=True)
class NewTable:
    """A client's definition of a new table."""

    schema: Schema
    partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC
    sort_order: SortOrder = UNSORTED_SORT_ORDER
    properties: Mapping[str, str] = field(default_factory=dict[str, str])


def new_metadata(new: NewTable, table: ResourceId, location: str) -> TableMetadata:
    """Return the first metadata of a table. Raises `RuleError` or `InvalidMetadataError`."""
    check_table_properties({}, new.properties)
    check_no_format_version({}, {key: value for key, value in new.properties.items() if key != _FORMAT_VERSION})
    version = int(new.properties.get(_FORMAT_VERSION, TableProperties.DEFAULT_FORMAT_VERSION))
    if version < ROW_LINEAGE:
        check_defaults((), (new.schema,))
    check_column_types((), (new.schema,), version)
    created = require_valid(
        "table",
        lambda: new_table_metadata(
            new.schema,
            new.partition_spec,
            new.sort_order,
            location,
            {**_NEW_TABLE_PROPERTIES, **new.properties},
            uuid.UUID(table),
        ),
    )
    is_latest = version == ROW_LINEAGE
    made = read_back(restore_defaults(convert_metadata(created, ROW_LINEAGE), new.schema) if is_latest else created)
    require_readable(made)
    check_metadata_growth(None, made)
    check_column_names((), made.schemas)
    return made


def build_updated_metadata(
    base: TableMetadata | None, base_path: str | None, updates: Sequence[TableUpdate]
) -> TableMetadata:
    """Return the metadata after the updates; `base` is None for a table that they create.

    Raises `RuleError` or `InvalidMetadataError`.
    """
    # Not validated: validation adds a schema to an empty base, and the first real schema then collides with it.
    start = base or TableMetadataV1.model_construct(location="", last_column_id=-1, schema=Schema())
    check_updates(updates)
    start = _upgrade(start, updates if base or _has_version(updates) else (_DEFAULT_VERSION,))
    last, next_row_id = _check_sequence(start, updates), find_next_row_id(start, updates)
    removals = Removals(start)
    others = require_valid("table", lambda: tuple(removals.list_remaining(assign_ids(base, updates))))
    changed = require_valid("table", lambda: update_table_metadata(start, others, metadata_location=base_path))
    changed = removals.apply(changed)
    check_metadata_growth(base, changed)
    if not isinstance(changed, TableMetadataV1):
        # PyIceberg lets a snapshot without a parent decrease the table's sequence number.
        changed = changed.model_copy(update={"last_sequence_number": last})
    if next_row_id is not None:
        changed = changed.model_copy(update={"next_row_id": next_row_id})
    check_column_types(base.schemas if base else (), changed.schemas, changed.format_version)
    read = read_back(in_order(base, changed))
    require_readable(read)
    check_column_names(base.schemas if base else (), read.schemas)
    return read


def check_requirements(requirements: Sequence[TableRequirement], base: TableMetadata | None) -> None:
    """Raise `ConflictError` for the first requirement that the metadata does not meet."""
    for requirement in requirements:
        try:
            requirement.validate(base)
        except CommitFailedException as error:
            raise ConflictError(str(error)) from error


def parse_metadata(content: bytes) -> TableMetadata:
    """Return the metadata in the content of a file. Raises `InvalidMetadataError`."""
    return require_valid("table", lambda: parse_table_document(content.decode()))


def read_back(metadata: TableMetadata) -> TableMetadata:
    """Return the metadata as it is read from its file: a metadata file that could not be read back would lose the table."""
    return require_valid("table", lambda: parse_table_document(_text(metadata)))


def next_path(location: str, base_path: str | None, name: str) -> str:
    """Return the path of the next metadata file of the table at `location`."""
    found = _VERSION.search(base_path) if base_path else None
    version = int(found[1]) + 1 if found else 0
    return f"{location}/metadata/{version:05d}-{name}.metadata.json"


def _has_version(updates: Sequence[TableUpdate]) -> bool:
    return any(isinstance(update, UpgradeFormatVersionUpdate) for update in updates)


def _upgrade(base: TableMetadata, updates: Sequence[TableUpdate]) -> TableMetadata:
    """Return the metadata in the format version that the updates ask for. Raises `InvalidMetadataError`."""
    for update in updates:
        if isinstance(update, UpgradeFormatVersionUpdate):
            version = update.format_version
            if version not in FORMAT_VERSIONS or version < base.format_version:
                raise InvalidMetadataError(
                    f"the table of format version {base.format_version} cannot be changed to format version {version}; the supported "
                    f"format versions are {SUPPORTED_VERSIONS}, and a version is never lowered"
                )
            if version != base.format_version:
                base = convert_metadata(base, version)
    return base


def _check_sequence(base: TableMetadata, updates: Sequence[TableUpdate]) -> int:
    """Return the table's last sequence number after the updates.

    Raises `ConflictError` for a snapshot whose number is not above the last one: another commit was faster. A snapshot without
    a parent replaces the table's content, so it may have a number that was free when it was begun. Raises
    `InvalidMetadataError` for a number too far ahead.
    """
    if isinstance(base, TableMetadataV1):
        check_no_sequence_number(updates)
        return 0
    last = base.last_sequence_number
    for snapshot in list_added_snapshots(updates):
        number, parent = snapshot.sequence_number, snapshot.parent_snapshot_id
        if number is None or number <= 0 or (number <= last and parent is not None):
            raise ConflictError(
                "the `sequence-number` of a new snapshot is not above the table's `last-sequence-number`; "
                "load the table again and retry the commit"
            )
        if number > last + _MOST_AHEAD:
            raise InvalidMetadataError(
                "the `sequence-number` of a new snapshot is out of range; use the number after the table's "
                "`last-sequence-number`"
            )
        last = max(last, number)
    return last


def _text(metadata: TableMetadata) -> str:
    # Warnings of values with another type than their field are off: such values are refused when the text is parsed.
    return metadata.model_dump_json(warnings=False)
