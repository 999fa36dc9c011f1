"""The check of a request against the allow list: a message, field or value that is not listed is refused."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from headgate.spark.gateway.errors import RequestRefusedError, TooComplexError
from headgate.spark.gateway.policy.message_types import MessageType, build_refused_message_error, message_type
from headgate.spark.gateway.policy.references import REFERRING
from headgate.spark.gateway.policy.rules import RequestingCaller
from headgate.spark.gateway.wire_format import MAX_PARTS, TOO_MANY_PARTS

MAX_DEPTH = 1024
"""The limit of levels of nested messages; the same as Spark's own."""
TOO_DEEP: Final = f"the DataFrame is nested more than {MAX_DEPTH} levels deep; divide it with temporary views, or write a part of it to a table first"
_LOOKS: Final = 4096
"""The number of messages between two checks of the time limit."""


def check_request(request: Message, reader: RequestingCaller) -> list[tuple[str, Any]]:
    """Check and rewrite the request, and return its `REFERRING` messages with their type names.

    Raises `RequestRefusedError` unless all of the request is allowed to this caller and small enough to check.
    """
    walk = _Walk(reader)
    # One iterator for each level: messages that are not reached take no memory.
    levels: list[Iterator[Any]] = [iter((request,))]
    while levels:
        message = next(levels[-1], None)
        if message is None:
            levels.pop()
        elif below := walk.enter(message):
            if len(levels) > MAX_DEPTH:
                raise TooComplexError(TOO_DEEP)
            levels.append(chain.from_iterable(below))
    return walk.referring


class _Walk:
    """The state of one check: the counts of parts and messages, and the referring messages."""

    def __init__(self, reader: RequestingCaller) -> None:
        self._reader = reader
        self._parts = 0
        self._messages = 0
        self.referring: list[tuple[str, Any]] = []

    def enter(self, message: Any) -> list[Iterable[Any]]:
        """Check one message without its nested messages, and return these."""
        self._messages += 1
        if self._messages % _LOOKS == 0:
            self._reader.require_time()
        kind = message_type(message.__class__)
        if kind.rewrite is not None:
            kind.rewrite(message)
        if not kind.is_allowed:
            raise build_refused_message_error(kind.name)
        below = self._check_fields(kind, message)
        if len(UnknownFieldSet(message)):
            raise RequestRefusedError(
                f"`{kind.name}` has a field that Headgate does not know; use a PySpark 4.1 client"
            )
        if kind.rule is not None:
            kind.rule(message, self._reader)
        if kind.name in REFERRING:
            self.referring.append((kind.name, message))
        return below

    def _check_fields(self, kind: MessageType, message: Any) -> list[Iterable[Any]]:
        below: list[Iterable[Any]] = []
        for descriptor, value in message.ListFields():
            field = kind.fields[descriptor]
            if field.is_plain:
                continue
            if field.is_kind:
                below.append((value,))
                continue
            field.check(kind.name, value)
            self._parts += field.parts(value)
            if self._parts > MAX_PARTS:
                raise TooComplexError(TOO_MANY_PARTS)
            if field.holds_messages:
                below.append(field.messages(value))
        return below
