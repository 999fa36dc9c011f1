"""Helpers to pass requests through the gateway's admission check, without a gateway."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, RunId, TokenId
from headgate.spark.gateway import protos
from headgate.spark.gateway.admission import Admitted, admit
from headgate.spark.gateway.policy.rules import RequestingCaller
from headgate.spark.gateway.rpcs import CONFIG_RPC, EXECUTE_PLAN, Rpc

# The type stubs do not accept nested messages written as dicts.
base: Any = protos.base
commands: Any = protos.commands
relations: Any = protos.relations
SESSION = "00000000-0000-0000-0000-000000000001"
ANN = Caller(PrincipalId("ann"), TokenId("t1"))
RUN = Caller(PrincipalId("ann"), run=RunId("r1"))
IN_THE_DROP = "file:/drop/a.csv"
UDT = '{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":{"type":"\\u0075dt","class":"x"}}]}'


def may_touch(_caller: Caller, action: str, path: str) -> bool:
    """Allow reads in the folder `drop`, writes in the folder `tray`, and checkpoints in one folder."""
    if action == "path.checkpoint":
        return path == "/progress/q"
    return path.startswith({"path.read": "file:/drop/", "path.write": "file:/tray/"}[action])


def admit_as(caller: Caller, rpc: Rpc, data: bytes) -> Admitted:
    """Check a request as the caller's."""
    return admit(rpc, data, RequestingCaller(caller, may_touch))


def try_relation(caller: Caller = ANN, **fields: Any) -> Any:
    """Check a query, and return the request that the gateway would forward."""
    request = base.ExecutePlanRequest(session_id=SESSION, plan=base.Plan(root=relations.Relation(**fields)))
    return admit_as(caller, EXECUTE_PLAN, request.SerializeToString()).request


def try_command(caller: Caller = ANN, **fields: Any) -> Any:
    """Check a command, and return the request that the gateway would forward."""
    request = base.ExecutePlanRequest(session_id=SESSION, plan=base.Plan(command=commands.Command(**fields)))
    return admit_as(caller, EXECUTE_PLAN, request.SerializeToString()).request


def try_config(**operation: Any) -> Any:
    """Check a request that reads or changes configuration."""
    request = base.ConfigRequest(session_id=SESSION, operation=base.ConfigRequest.Operation(**operation))
    return admit_as(ANN, CONFIG_RPC, request.SerializeToString()).request


def a_range() -> Any:
    """Return a query that reads nothing."""
    return relations.Relation(range=relations.Range(end=1, step=1))


def a_table(name: str = "lake.raw.flights", **options: str) -> Any:
    """Return a read of a table by name."""
    return relations.Read(named_table=relations.Read.NamedTable(unparsed_identifier=name, options=options))


def files(**fields: Any) -> Any:
    """Return a read of files."""
    given = {"format": "csv", "paths": [IN_THE_DROP], **fields}
    return relations.Read(data_source=relations.Read.DataSource(**given))


def short(name: str) -> str:
    """Return a message type's name in the spelling of the lists."""
    return name.removeprefix("spark.connect.")


def walk(request: Message) -> Iterator[Any]:
    """Yield every message of a request, parents before children."""
    waiting: list[Any] = [request]
    while waiting:
        message = waiting.pop()
        yield message
        for field, value in message.ListFields():
            inner = field.message_type
            if inner is not None and inner.GetOptions().map_entry:
                waiting.extend(each for each in value.values() if isinstance(each, Message))
            elif inner is not None:
                waiting.extend(value if field.is_repeated else (value,))
