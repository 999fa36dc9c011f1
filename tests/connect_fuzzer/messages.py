"""The requests that the fuzzer mutates.

They are the recorded requests of a stock client, and minimal requests for each field that no recording has.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from headgate.spark.gateway.rpcs import RPCS, SERVICE, Rpc

RECORDED: Final = Path(__file__).parent / "recorded.jsonl"
_PREFIX: Final = "spark.connect."
_DEEPEST: Final = 8
"""The maximum depth of a generated message."""
_FIRST: Final = {
    "Plan": "root",
    "Relation": "range",
    "Expression": "literal",
    "Expression.Literal": "integer",
    "DataType": "integer",
    "Command": "sql_command",
    "Catalog": "current_database",
}
"""The alternative that a generated message of a type has."""
ANY: Final = "google.protobuf.Any"
"""The type that contains a message of any type; stock clients do not send it, and the gateway refuses it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a call."""

    rpc: Rpc
    message: Message


def recorded() -> list[Request]:
    """Return the requests of the recording."""
    lines = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    return [_read(each["call"], each["request"]) for each in lines]


def _read(call: str, fields: dict[str, Any]) -> Request:
    rpc = RPCS[SERVICE + call]
    return Request(rpc, ParseDict(fields, rpc.request()))


def line(request: Request) -> str:
    """Return the line of the recording for a request."""
    fields = MessageToDict(request.message, preserving_proto_field_name=True)
    return json.dumps({"call": request.rpc.name, "request": fields}, ensure_ascii=False, sort_keys=True)


def corpus(requests: Sequence[Request]) -> list[Request]:
    """Return the requests, an empty one of each call, and one for each field of a message that none of these has."""
    bare = [Request(rpc, rpc.request()) for rpc in RPCS.values()]
    found = [*requests, *bare]
    covered = {pair for each in found for pair in pairs(each.message)}
    waiting = deque(sorted(found, key=lambda each: each.message.ByteSize()))
    while waiting:
        request = waiting.popleft()
        made = list(_with_new_fields(request, covered))
        found += made
        waiting += made
    return found


def _with_new_fields(request: Request, covered: set[tuple[str, str]]) -> Iterator[Request]:
    for place, message in enumerate(walk(request.message)):
        for field in message.DESCRIPTOR.fields:
            pair = name_of(message.DESCRIPTOR), field.name
            if pair in covered or (field.message_type and name_of(field.message_type) == ANY):
                continue
            copy = type(request.message).FromString(request.message.SerializeToString())
            put(list(walk(copy))[place], field)
            covered.update(pairs(copy))
            yield Request(request.rpc, copy)


def pairs(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the fields of a message, at any depth, each with its message type."""
    for each in walk(message):
        for field, _ in each.ListFields():
            yield name_of(each.DESCRIPTOR), field.name


def walk(message: Message) -> Iterator[Message]:
    """Yield a message and every message in it, parents before children."""
    yield message
    for field, value in message.ListFields():
        for inner in _inner(field, value):
            yield from walk(inner)


def _inner(field: Any, value: Any) -> Iterable[Message]:
    if field.message_type is None:
        return ()
    if field.message_type.GetOptions().map_entry:
        return (each for _, each in sorted(value.items()) if isinstance(each, Message))
    return value if field.is_repeated else (value,)


def put(message: Message, field: Any) -> None:
    """Set a field of a message to a generated value."""
    held: Any = getattr(message, field.name)
    if is_map(field):
        entry = field.message_type.fields_by_name
        if entry["value"].message_type is not None:
            fill(held["x"], 0)
        else:
            held["x"] = scalar(entry["value"])
    elif field.is_repeated and field.message_type is not None:
        fill(held.add(), 0)
    elif field.is_repeated:
        held.append(scalar(field))
    elif field.message_type is not None:
        held.SetInParent()
        fill(held, 0)
    else:
        setattr(message, field.name, scalar(field))


def fill(message: Message, depth: int) -> None:
    """Set the fields that most messages of the type require: relations, expressions, types and plans."""
    descriptor = message.DESCRIPTOR
    chosen = _FIRST.get(name_of(descriptor))
    for field in descriptor.fields:
        wanted = field.name == chosen if chosen else _is_needed(field)
        if not wanted or depth > _DEEPEST:
            continue
        if field.message_type is None:
            put(message, field)
        else:
            held: Any = getattr(message, field.name)
            held.SetInParent()
            fill(held, depth + 1)


def _is_needed(field: Any) -> bool:
    alternatives = field.containing_oneof
    if field.is_repeated or (alternatives is not None and field is not alternatives.fields[0]):
        return False
    return field.message_type is None or name_of(field.message_type) in _FIRST


def scalar(field: Any) -> Any:
    """Return a generated value."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return b"x" if field.type == FieldDescriptor.TYPE_BYTES else "x"
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    return 1


def is_map(field: Any) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def name_of(descriptor: Any) -> str:
    """Return a message type's name in the spelling of the gateway's list."""
    return str(descriptor.full_name).removeprefix(_PREFIX)
