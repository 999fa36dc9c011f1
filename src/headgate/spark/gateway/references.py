"""What the guard is asked before a request goes on, because it would not see it in the request itself."""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import Message

from headgate.spark.gateway.errors import RefusedError
from headgate.spark.gateway.messages import children, short_name
from headgate.spark.gateway.protos import relations

_MOST: Final = 20
"""Each costs an analysis; the stock client sends none."""


def unseen(request: Message) -> list[Any]:
    """Return queries that Spark must analyse first: whoever may not run them may not send the request.

    Spark passes over a reference that nothing uses, answers a malformed one with an error of its own, and makes a
    graph of pipelines without any plan. What is named in them is needed all the same. Raises `RefusedError`.
    """
    references: list[Any] = []
    used: set[int] = set()
    found: list[Any] = []
    for message in _all(request):
        name = short_name(message)
        if name == "WithRelations" and not _are_by_name(message):
            references.extend(message.references)
        elif name == "SubqueryExpression":
            used.add(message.plan_id)
        elif name == "PipelineCommand.CreateDataflowGraph":
            found.append(_graph(message))
    found.extend(each for each in references if not (each.common.HasField("plan_id") and each.common.plan_id in used))
    if len(found) > _MOST:
        raise RefusedError(f"the request refers to more than {_MOST} plans that nothing uses; leave them out")
    return found


def named_relations(request: Message) -> frozenset[str]:
    """Return the ids of the relations that the request names by id."""
    named = (message for message in _all(request) if isinstance(message, relations.CachedRemoteRelation))
    return frozenset(message.relation_id for message in named)


def _are_by_name(message: Any) -> bool:
    """Tell whether the references are those of SQL: each is made a view, used or not."""
    return message.root.HasField("sql") and all(each.HasField("subquery_alias") for each in message.references)


def _graph(message: Any) -> Any:
    """Return what needs the same as making tables where the graph's tables would go."""
    parts = (part for part in (message.default_catalog, message.default_database, "t") if part)
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    return relations.Relation(sql=relations.SQL(query=f"EXPLAIN CREATE TABLE {name} (x INT)"))


def _all(request: Message) -> Iterator[Any]:
    waiting: list[Any] = [request]
    while waiting:
        message = waiting.pop()
        yield message
        waiting.extend(children(message))
