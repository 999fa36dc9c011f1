"""Registration: existing metadata files become tables, of a table dropped without a purge or of another catalog.

All metadata is read first: a table that names a file outside its location is refused.
"""

from collections.abc import Iterable

from pyiceberg.table.metadata import TableMetadata

from headgate.control.kernel.ports import Pointer, Store
from headgate.facts.ids import ResourceId
from headgate.lake.containment import overlap, place_of
from headgate.lake.errors import GoneError, InvalidMetadataError, RuleError
from headgate.lake.file_parsers import FileParsers
from headgate.lake.java_metadata_rules import require_readable
from headgate.lake.manifest_row_ids import check_stored_row_ids
from headgate.lake.manifests import TableFiles
from headgate.lake.metadata import parse_metadata, read_back
from headgate.lake.metadata_files import LoadedTable, check_size, location_of
from headgate.lake.metadata_rules import check_column_ids, check_main_branch, check_metadata, check_table_columns
from headgate.lake.snapshot_files import check_snapshot_files
from headgate.lake.warehouse import Warehouse


def register_dropped(store: Store, warehouse: Warehouse, path: str, parsers: FileParsers) -> LoadedTable:
    """Return a table from a metadata file in the table's own folder of the warehouse, which no existing table uses.

    Raises `RuleError` or `InvalidMetadataError`.
    """
    location = location_of(path)
    table = warehouse.owner(location) if location else None
    if table is None:
        raise RuleError(
            "the metadata file is not in a folder that Headgate created for a table; name the metadata file of a table that was dropped without a purge"
        )
    if store.pointer(table) is not None:
        raise RuleError(
            "the folder of the metadata file belongs to an existing table; use that table, or drop it without a purge, which keeps its files, before you register the file"
        )
    return _checked(warehouse, table, location, path, parsers)


def import_foreign(warehouse: Warehouse, path: str, taken: Iterable[str], parsers: FileParsers) -> LoadedTable:
    """Return a table of another catalog. Its location must be outside the warehouse and not overlap those in `taken`.

    Raises `RuleError` or `InvalidMetadataError`.
    """
    location = location_of(path)
    if not location or place_of(path) != f"{place_of(location)}/metadata/{path.rpartition('/')[2]}":
        raise RuleError(
            "the table's metadata file is not directly in the folder `metadata` of the table's location; in the catalog of the table remove the property `write.metadata.path`, commit a change, and register the metadata file of that change"
        )
    if warehouse.holds(location):
        raise RuleError(
            "the table's location overlaps Headgate's own warehouse; move the table to another location in the catalog that it comes from, or do not import it"
        )
    if any(overlap(location, each) for each in taken):
        raise RuleError(
            "the table's location overlaps that of another table, which is in Headgate already or in the same import; move one of the two tables to another location, or leave this table out of the import"
        )
    return _checked(warehouse, None, location, path, parsers)


def _checked(
    warehouse: Warehouse, expected: ResourceId | None, location: str, path: str, parsers: FileParsers
) -> LoadedTable:
    """Return the table of a metadata file; its id must be `expected`, or may be any if that is None."""
    try:
        content = warehouse.read(location, path)
    except GoneError:
        raise InvalidMetadataError(
            "the metadata file at the `metadata-location` of the table does not exist; correct `metadata-location`"
        ) from None
    check_size(content)
    metadata = parse_metadata(parsers.rewrite_json(content))
    table = expected or ResourceId(str(metadata.table_uuid))
    check_metadata(metadata, table, location)
    check_main_branch(metadata)
    check_column_ids(metadata)
    check_table_columns(None, metadata)
    require_readable(read_back(metadata))
    _check_files(warehouse, metadata, parsers)
    return LoadedTable(Pointer(table, path), metadata)


def _check_files(warehouse: Warehouse, metadata: TableMetadata, parsers: FileParsers) -> None:
    files = TableFiles(warehouse, metadata.location, parsers)
    for snapshot in metadata.snapshots:
        if not snapshot.manifest_list:
            raise InvalidMetadataError(
                "a snapshot of the table has no manifest list; expire that snapshot, or rewrite the table's manifests first"
            )
        check_snapshot_files(files, snapshot, {}, metadata)
    check_stored_row_ids(files, metadata.snapshots, getattr(metadata, "next_row_id", None))
