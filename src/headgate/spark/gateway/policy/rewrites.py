"""Rewrites of messages that take effect before the guard sees a plan, into equivalent messages that it does see."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from headgate.spark.gateway.artifact_names import name_cached_rows
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.ml_requests import drop_summary_dataset
from headgate.spark.gateway.policy.values import MAX_NAME
from headgate.spark.gateway.protos import commands, relations

_PART: Final = r"(?:\w+|`(?:[^`]|``)+`)"
_NAME: Final = re.compile(rf"{_PART}(?:\.{_PART})*")
"""A qualified name in SQL syntax."""


def _drop_jvm_origin(origin: Any) -> None:
    """Drop the stack trace that Scala and Java clients send with each column: Spark uses it only in the texts of errors."""
    origin.ClearField("jvm_origin")


def _drop_false_marker(function: Any) -> None:
    """Drop the statement of Scala and Java clients that a function is not internal: the absence of the marker says the same."""
    if not function.is_internal:
        function.ClearField("is_internal")


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
    """Move a separate database name into the table name: Spark would look the database up in its own catalog."""
    if lookup.HasField("db_name"):
        lookup.table_name = f"{lookup.db_name}.`{lookup.table_name.replace('`', '``')}`"
        lookup.ClearField("db_name")


def _use_database(catalog: Any) -> Any:
    """Return the SQL statement `USE`: Spark's own call would look the name up and reveal whether the database exists."""
    return _sql("USE", catalog.set_current_database.db_name)


def _use_catalog(catalog: Any) -> Any:
    return _sql("SET CATALOG", catalog.set_current_catalog.catalog_name)


def _clear_cache(_: Any) -> Any:
    """Return the SQL statement `CLEAR CACHE`, for which the guard clears what the session has cached, and not all sessions."""
    return relations.SQL(query="CLEAR CACHE")


def _sql(command: str, name: str) -> Any:
    return relations.SQL(query=f"{command} {require_name(name)}")


def require_name(text: str) -> str:
    """Return the text if it is safe as a name in a SQL statement. Raises `RequestRefusedError` otherwise."""
    if not _is_name(text):
        raise RequestRefusedError(
            f"`{text}` is not a name of a table, database or catalog; put parts with special characters into backquotes"
        )
    return text


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


_LOOKUPS: Final = frozenset({"get_table", "list_columns", "table_exists"})
_CATALOG_CHANGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "clear_cache": _clear_cache,
    "set_current_catalog": _use_catalog,
    "set_current_database": _use_database,
}


def _name_iceberg_table(read: Any) -> None:
    """Replace `format("iceberg").load(name)` by an equivalent read of the table of that name."""
    source = read.data_source
    if source.format.lower() == "iceberg" and len(source.paths) == 1 and not source.schema and not source.predicates:
        table = relations.Read.NamedTable(unparsed_identifier=source.paths[0], options=source.options)
        read.named_table.CopyFrom(table)


def _name_written_table(command: Any) -> None:
    """Replace `format("iceberg").save(name)` by an equivalent write to the table of that name."""
    write = command.write_operation
    mode = _MODES.get(write.mode)
    set_fields = {field.name for field, _ in write.ListFields()}
    if write.source.lower() != "iceberg" or mode is None or set_fields - _WRITTEN or not _is_name(write.path):
        return
    named = commands.WriteOperationV2(input=write.input, table_name=write.path, options=write.options, mode=mode)
    if write.mode == commands.WriteOperation.SAVE_MODE_OVERWRITE:
        named.overwrite_condition.literal.boolean = True
    command.write_operation_v2.CopyFrom(named)


def _discard_console(start: Any) -> None:
    """Replace the sink `console`, which would print rows into the log of the driver, by `noop`."""
    if start.format.lower() == "console":
        start.format = "noop"
        for key in [key for key in start.options if key.lower() in _CONSOLE_OPTIONS]:
            del start.options[key]


_CONSOLE_OPTIONS: Final = frozenset({"numrows", "truncate"})
_WRITTEN: Final = frozenset({"input", "mode", "options", "path", "source"})
"""Fields without the layout of a new table: the table exists already."""
_MODES: Final[Mapping[int, Any]] = {
    commands.WriteOperation.SAVE_MODE_APPEND: commands.WriteOperationV2.MODE_APPEND,
    commands.WriteOperation.SAVE_MODE_OVERWRITE: commands.WriteOperationV2.MODE_OVERWRITE,
}
"""The equivalent modes for an existing table; Iceberg creates no table in these modes."""

REWRITES: Final[Mapping[str, Callable[[Any], None]]] = {
    "ChunkedCachedLocalRelation": name_cached_rows,
    "Command": _name_written_table,
    "Expression.UnresolvedFunction": _drop_false_marker,
    "MlRelation": drop_summary_dataset,
    "Origin": _drop_jvm_origin,
    "Relation": _rewrite_relation,
    "WriteStreamOperationStart": _discard_console,
}
"""Message type -> the function that rewrites such messages in place. It raises `RequestRefusedError`."""
