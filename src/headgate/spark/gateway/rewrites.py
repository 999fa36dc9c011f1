"""Messages that act before the guard sees a plan, put into the words of one that it sees."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.message import Message

from headgate.spark.gateway.errors import RefusedError
from headgate.spark.gateway.messages import children
from headgate.spark.gateway.protos import relations

_CATALOG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def rewrite(request: Message) -> None:
    """Replace such messages wherever they stand in the request. Raises `RefusedError`."""
    waiting: list[Message] = [request]
    while waiting:
        message = waiting.pop()
        if isinstance(message, relations.Relation):
            _rewrite_relation(message)
        waiting.extend(children(message))


def _rewrite_relation(relation: Any) -> None:
    kind = relation.WhichOneof("rel_type")
    if kind == "catalog":
        change = _CATALOG_CHANGES.get(relation.catalog.WhichOneof("cat_type"))
        if change is not None:
            relation.sql.CopyFrom(change(relation.catalog))
    elif kind == "read":
        _name_iceberg_table(relation.read)


def _use_database(catalog: Any) -> Any:
    """Spark itself would look the name up and tell whether there is such a database."""
    use = relations.SQL(query="USE IDENTIFIER(:name)")
    use.named_arguments["name"].literal.string = catalog.set_current_database.db_name
    return use


def _use_catalog(catalog: Any) -> Any:
    name = catalog.set_current_catalog.catalog_name
    if not _CATALOG.fullmatch(name):
        raise RefusedError(f"`{name}` is not the name of a catalog")
    return relations.SQL(query=f"SET CATALOG {name}")


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
