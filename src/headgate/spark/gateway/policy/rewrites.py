"""Messages that act before the guard sees a plan, put into the words of one that it sees."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from headgate.spark.gateway.artifact_names import name_cached_rows
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.values import MAX_NAME
from headgate.spark.gateway.protos import commands, relations

_PART: Final = r"(?:\w+|`(?:[^`]|``)+`)"
_NAME: Final = re.compile(rf"{_PART}(?:\.{_PART})*")
"""A name as SQL has it."""


def _rewrite_relation(relation: Any) -> None:
    kind = relation.WhichOneof("rel_type")
    if kind == "catalog":
        _rewrite_catalog(relation)
    elif kind == "read":
        _name_iceberg_table(relation.read)


def _rewrite_catalog(relation: Any) -> None:
    call = relation.catalog.WhichOneof("cat_type")
    if call in _CATALOG_CHANGES:
        relation.sql.CopyFrom(_CATALOG_CHANGES[call](relation.catalog))
    elif call in _LOOKUPS:
        _name_database(getattr(relation.catalog, call))


def _name_database(lookup: Any) -> None:
    """Put a database that is named apart into the name: Spark would look for it in a catalog of its own."""
    if lookup.HasField("db_name"):
        lookup.table_name = f"{lookup.db_name}.`{lookup.table_name.replace('`', '``')}`"
        lookup.ClearField("db_name")


def _use_database(catalog: Any) -> Any:
    """Spark itself would look the name up and tell whether there is such a database."""
    return _sql("USE", catalog.set_current_database.db_name)


def _use_catalog(catalog: Any) -> Any:
    return _sql("SET CATALOG", catalog.set_current_catalog.catalog_name)


def _sql(command: str, name: str) -> Any:
    return relations.SQL(query=f"{command} {require_name(name)}")


def require_name(text: str) -> str:
    """Return a text that may stand in SQL as a name, and as nothing else. Raises `RequestRefusedError`."""
    if not _is_name(text):
        raise RequestRefusedError(f"`{text}` is not a name; write one with other characters in backquotes")
    return text


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


_LOOKUPS: Final = frozenset({"get_table", "list_columns", "table_exists"})
_CATALOG_CHANGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "set_current_catalog": _use_catalog,
    "set_current_database": _use_database,
}


def _name_iceberg_table(read: Any) -> None:
    """Read `format("iceberg").load(name)` as what it means: the table of that name."""
    source = read.data_source
    if source.format.lower() == "iceberg" and len(source.paths) == 1 and not source.schema and not source.predicates:
        table = relations.Read.NamedTable(unparsed_identifier=source.paths[0], options=source.options)
        read.named_table.CopyFrom(table)


def _name_written_table(command: Any) -> None:
    """Write `format("iceberg").save(name)` as what it means: rows for the table of that name."""
    write = command.write_operation
    mode = _MODES.get(write.mode)
    set_fields = {field.name for field, _ in write.ListFields()}
    if write.source.lower() != "iceberg" or mode is None or set_fields - _WRITTEN or not _is_name(write.path):
        return
    named = commands.WriteOperationV2(input=write.input, table_name=write.path, options=write.options, mode=mode)
    if write.mode == commands.WriteOperation.SAVE_MODE_OVERWRITE:
        named.overwrite_condition.literal.boolean = True
    command.write_operation_v2.CopyFrom(named)


_WRITTEN: Final = frozenset({"input", "mode", "options", "path", "source"})
"""Not how a new table is laid out: this one is there."""
_MODES: Final[Mapping[int, Any]] = {
    commands.WriteOperation.SAVE_MODE_APPEND: commands.WriteOperationV2.MODE_APPEND,
    commands.WriteOperation.SAVE_MODE_OVERWRITE: commands.WriteOperationV2.MODE_OVERWRITE,
}
"""What Iceberg does to a table that is there; it makes none in these modes."""

REWRITES: Final[Mapping[str, Callable[[Any], None]]] = {
    "ChunkedCachedLocalRelation": name_cached_rows,
    "Command": _name_written_table,
    "Relation": _rewrite_relation,
}
"""Message type -> what replaces such messages by the guard's words. Raises `RequestRefusedError`."""
