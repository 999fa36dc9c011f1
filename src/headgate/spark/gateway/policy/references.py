"""References of a request that the guard does not see in its plan: queries that Spark ignores, and cached rows by id."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.rewrites import require_name
from headgate.spark.gateway.protos import commands, relations

REFERRING: Final = frozenset(
    {
        "CachedRemoteRelation",
        "LocalRelation",
        "MlRelation",
        "PipelineCommand.CreateDataflowGraph",
        "SubqueryExpression",
        "WithRelations",
        "WriteOperation",
        "WriteStreamOperationStart",
    }
)
"""The message types that `find_references` reads."""
_MOST: Final = 20
"""The limit of unused plans in a request. Each costs an analysis; the stock client sends none."""


@dataclass(slots=True)
class References:
    """Queries that Spark must analyse before the request, and ids of cached rows.

    A caller who may not run such a query may not send the request either. Spark ignores a reference that nothing uses,
    answers a malformed one with an error of its own, and creates a graph of pipelines without any plan. The request
    still requires the privileges on the objects that these references name.
    """

    unseen: list[Any] = field(default_factory=list[Any])
    probes: list[Any] = field(default_factory=list[Any])
    """Statements that require the same privileges as the request. Only their refusal counts; other errors are ignored."""
    named: set[str] = field(default_factory=set[str])
    local_rows: list[Any] = field(default_factory=list[Any])
    """The local relations that contain their rows inline."""


def find_references(messages: Iterable[tuple[str, Any]]) -> References:
    """Return the references in the `REFERRING` messages of a request. Raises `RequestRefusedError` if they are too many."""
    found = References()
    plans: list[Any] = []
    used: set[int] = set()
    kinds: set[str] = set()
    for name, message in messages:
        kinds.add(name)
        if name == "WithRelations" and not _are_by_name(message):
            plans.extend(message.references)
        elif name == "SubqueryExpression":
            used.add(message.plan_id)
        elif name == "PipelineCommand.CreateDataflowGraph":
            found.probes.append(_graph(message))
        elif name == "WriteOperation" and _appends(message):
            found.probes.append(_build_explain("INSERT INTO {} VALUES (1)", message.table.table_name))
        elif name == "CachedRemoteRelation":
            found.named.add(message.relation_id)
        elif name == "LocalRelation" and message.HasField("data"):
            found.local_rows.append(message)
    if kinds >= {"MlRelation", "WriteStreamOperationStart"}:
        raise RequestRefusedError(
            "a streaming query cannot use a model or transformer of `pyspark.ml`: Headgate would not notice if a privilege on its training rows were revoked; write the stream to a table, and transform the table"
        )
    found.unseen.extend(plan for plan in plans if not (plan.common.HasField("plan_id") and plan.common.plan_id in used))
    if len(found.unseen) + len(found.probes) > _MOST:
        raise RequestRefusedError(
            f"the plan of the DataFrame refers to more than {_MOST} DataFrames that it does not use, for example of earlier joins; use a PySpark 4.1 client, and build the DataFrame again from `spark.table(...)`"
        )
    return found


def _are_by_name(message: Any) -> bool:
    """Whether these are the references of a SQL text: Spark creates a view of each, used or not."""
    return message.root.HasField("sql") and all(each.HasField("subquery_alias") for each in message.references)


def _graph(message: Any) -> Any:
    """Return a statement with the privileges of creating a table in the catalog and database of the graph."""
    parts = (part for part in (message.default_catalog, message.default_database, "t") if part)
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    return _build_explain("CREATE TABLE {} (x INT)", name)


def _appends(write: Any) -> bool:
    """Whether this is `saveAsTable` in append mode: Spark would try to create a table that exists but is hidden."""
    saves = write.table.save_method == commands.WriteOperation.SaveTable.TABLE_SAVE_METHOD_SAVE_AS_TABLE
    return saves and write.mode == commands.WriteOperation.SAVE_MODE_APPEND


def _build_explain(statement: str, name: str) -> Any:
    return relations.Relation(sql=relations.SQL(query=f"EXPLAIN {statement.format(require_name(name))}"))
