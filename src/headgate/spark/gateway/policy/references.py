"""What a request refers to and the guard does not see in it: queries that Spark passes over, and rows by id."""

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
        "PipelineCommand.CreateDataflowGraph",
        "SubqueryExpression",
        "WithRelations",
        "WriteOperation",
    }
)
"""The types of messages that `references` reads."""
_MOST: Final = 20
"""Each costs an analysis; the stock client sends none."""


@dataclass(slots=True)
class References:
    """Queries that Spark must analyse first, for whoever may not run them may not send the request; and ids of rows.

    Spark passes over a reference that nothing uses, answers a malformed one with an error of its own, and makes a
    graph of pipelines without any plan. What is named in them is needed all the same.
    """

    unseen: list[Any] = field(default_factory=list[Any])
    probes: list[Any] = field(default_factory=list[Any])
    """Statements that need what the request needs: their refusal counts, and no other error of theirs."""
    named: set[str] = field(default_factory=set[str])
    local_rows: list[Any] = field(default_factory=list[Any])
    """The local relations that carry rows themselves."""


def find_references(messages: Iterable[tuple[str, Any]]) -> References:
    """Return what a request with these `REFERRING` messages refers to. Raises `RequestRefusedError` if that is too much."""
    found = References()
    plans: list[Any] = []
    used: set[int] = set()
    for name, message in messages:
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
    found.unseen.extend(plan for plan in plans if not (plan.common.HasField("plan_id") and plan.common.plan_id in used))
    if len(found.unseen) + len(found.probes) > _MOST:
        raise RequestRefusedError(f"the request refers to more than {_MOST} plans that nothing uses; leave them out")
    return found


def _are_by_name(message: Any) -> bool:
    """Tell whether the references are those of SQL: each is made a view, used or not."""
    return message.root.HasField("sql") and all(each.HasField("subquery_alias") for each in message.references)


def _graph(message: Any) -> Any:
    """Return what needs the same as making tables where the graph's tables would go."""
    parts = (part for part in (message.default_catalog, message.default_database, "t") if part)
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    return _build_explain("CREATE TABLE {} (x INT)", name)


def _appends(write: Any) -> bool:
    """Tell whether this is `saveAsTable` to a table that may be there: where it is hidden, Spark would go on to make it."""
    saves = write.table.save_method == commands.WriteOperation.SaveTable.TABLE_SAVE_METHOD_SAVE_AS_TABLE
    return saves and write.mode == commands.WriteOperation.SAVE_MODE_APPEND


def _build_explain(statement: str, name: str) -> Any:
    return relations.Relation(sql=relations.SQL(query=f"EXPLAIN {statement.format(require_name(name))}"))
