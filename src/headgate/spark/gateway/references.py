"""Plans that refer to other plans: each reference is one that Spark looks at, so that each is decided on."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from headgate.spark.gateway.errors import RefusedError
from headgate.spark.gateway.messages import children, short_name


def check_references(request: Message) -> None:
    """Raise `RefusedError` for a reference by which nothing in the request finds its plan.

    Spark answers some of them with an error before anybody is asked, and passes over others in silence.
    """
    ids: set[int] = set()
    used: set[int] = set()
    for message in _all(request):
        name = short_name(message)
        if name == "WithRelations":
            ids.update(_ids(message))
        elif name == "SubqueryExpression":
            used.add(message.plan_id)
    if ids - used:
        raise RefusedError("a plan is referred to, and nothing in the request uses it; leave it out")


def _ids(message: Any) -> Iterator[int]:
    """Yield the ids of the plans that a plan refers to; those of SQL have names instead."""
    by_name = message.root.HasField("sql")
    for reference in message.references:
        if not (reference.HasField("subquery_alias") if by_name else reference.common.HasField("plan_id")):
            raise RefusedError("a plan that another one refers to must have an id, or in SQL a name")
        if not by_name:
            yield reference.common.plan_id


def _all(request: Message) -> Iterator[Any]:
    waiting: list[Any] = [request]
    while waiting:
        message = waiting.pop()
        yield message
        waiting.extend(children(message))
