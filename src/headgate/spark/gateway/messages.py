"""The walk over a request: every message, field and value of it is on the allow list, or it is refused."""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from headgate.spark.gateway.allowed import ALLOWED
from headgate.spark.gateway.errors import RefusedError
from headgate.spark.gateway.refused import reason
from headgate.spark.gateway.rules import RULES, Reader
from headgate.spark.gateway.text_lengths import check_length

MAX_DEPTH = 1024
"""Messages within messages; Spark's own limit."""


def check(request: Message, reader: Reader) -> None:
    """Raise `RefusedError` unless everything in the request is allowed to this reader."""
    waiting = [(request, 0)]
    while waiting:
        message, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise RefusedError(f"the plan is nested more than {MAX_DEPTH} levels deep; split it into temporary views")
        _check_one(message, reader)
        waiting.extend((child, depth + 1) for child in children(message))


def short_name(message: Message) -> str:
    """Return the message type's name as the allow list spells it."""
    return message.DESCRIPTOR.full_name.removeprefix("spark.connect.")


def _check_one(message: Message, reader: Reader) -> None:
    name = short_name(message)
    fields = ALLOWED.get(name)
    if fields is None:
        raise _refused(name)
    for field, value in message.ListFields():
        if field.name not in fields:
            raise _refused(_subject(name, field))
        _check_enum(name, field, value)
        check_length(field, value)
    if len(UnknownFieldSet(message)):
        raise RefusedError(f"`{name}` has a field that Headgate does not know; use a PySpark 4.1 client")
    rule = RULES.get(name)
    if rule is not None:
        rule(message, reader)


def _subject(name: str, field: FieldDescriptor) -> str:
    """Return what to call a refused field: its message type if that is refused as such, else the field."""
    inner = field.message_type
    type_name = "" if inner is None else inner.full_name.removeprefix("spark.connect.")
    return type_name if type_name and type_name not in ALLOWED and reason(type_name) else f"{name}.{field.name}"


def _refused(name: str) -> RefusedError:
    return RefusedError(f"`{name}` is not allowed: {reason(name) or 'Headgate does not know it'}")


def _check_enum(name: str, field: FieldDescriptor, value: object) -> None:
    if field.enum_type is None:
        return
    numbers: Iterable[object] = value if field.is_repeated else (value,)  # pyright: ignore[reportAssignmentType]
    known = field.enum_type.values_by_number
    if any(number not in known for number in numbers):
        raise RefusedError(f"`{name}.{field.name}` has a value that Headgate does not know")


def walk(request: Message) -> Iterator[Message]:
    """Yield every message of a request, each before what it holds."""
    waiting = [request]
    while waiting:
        message = waiting.pop()
        yield message
        waiting.extend(children(message))


def children(message: Message) -> Iterator[Message]:
    """Yield the messages that a message holds."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            yield from (item for item in value.values() if isinstance(item, Message))
        elif field.is_repeated:
            yield from value
        else:
            yield value
