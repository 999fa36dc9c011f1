"""Cached descriptions of message types for the check of a request: allowed fields, rule, rewrite and how parts are counted."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.allow_list import ALLOWED
from headgate.spark.gateway.policy.deny_reasons import name_in_programs, reason
from headgate.spark.gateway.policy.rewrites import REWRITES
from headgate.spark.gateway.policy.rules import RULES, Rule
from headgate.spark.gateway.policy.text_lengths import check_length, find_bounds

_JSON: Final = frozenset(
    {
        "Expression.Alias.metadata",
        "Expression.Cast.type_str",
        "Read.DataSource.schema",
        "JsonToDDL.json_string",
        "LocalRelation.schema",
        "DataType.StructField.metadata",
        "DataType.Unparsed.data_type_string",
    }
)
"""Text fields that a rule may parse as JSON."""
_UNKNOWN: Final = "Headgate does not know it; use a PySpark 4.1 client"
_JSON_PART: Final = 16
"""The number of characters of JSON that count as one part."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field of a message."""

    name: str
    is_plain: bool
    """Whether the field is allowed, contains no message, and counts as no part."""
    is_kind: bool
    """Whether the field is an allowed alternative of a `oneof` of messages: it counts together with its enclosing message."""
    is_allowed: bool
    is_json: bool
    is_map: bool
    is_repeated: bool
    holds_messages: bool
    enum: Mapping[int, Any] | None
    descriptor: FieldDescriptor

    def parts(self, value: Any) -> int:
        """Return the number of parts that a value counts as."""
        if self.is_repeated:
            return len(value)
        if self.is_json:
            return len(value) // _JSON_PART
        return int(self.holds_messages)

    def messages(self, value: Any) -> Iterable[Any]:
        """Return the messages in a value; the field must contain messages."""
        if self.is_map:
            return value.values()
        return value if self.is_repeated else (value,)

    def check(self, owner: str, value: Any) -> None:
        """Raise `RequestRefusedError` unless a value is allowed."""
        if not self.is_allowed:
            raise build_refused_message_error(_subject(owner, self.descriptor))
        if self.enum is not None:
            numbers = value if self.is_repeated else (value,)
            if any(number not in self.enum for number in numbers):
                raise RequestRefusedError(
                    f"`{owner}.{self.name}` has a value that Headgate does not know; use a PySpark 4.1 client"
                )
        check_length(self.descriptor, value)


@dataclass(frozen=True, slots=True)
class MessageType:
    """A message type: its name, its allowed fields, its rule and its rewrite."""

    name: str
    is_allowed: bool
    fields: Mapping[FieldDescriptor, FieldType]
    rule: Rule | None
    rewrite: Callable[[Any], None] | None


@cache
def message_type(kind: type[Message]) -> MessageType:
    """Return the description of a message class."""
    descriptor: Any = kind.DESCRIPTOR
    name = short_name(descriptor)
    allowed = ALLOWED.get(name)
    return MessageType(
        name,
        is_allowed=allowed is not None,
        fields={field: _field_type(field, is_allowed=field.name in (allowed or ())) for field in descriptor.fields},
        rule=RULES.get(name),
        rewrite=REWRITES.get(name),
    )


def short_name(descriptor: Descriptor) -> str:
    """Return the message type's name as the allow list spells it."""
    return descriptor.full_name.removeprefix("spark.connect.")


def build_refused_message_error(name: str) -> RequestRefusedError:
    """Return the error for a message or field that is not allowed."""
    return RequestRefusedError(f"{name_in_programs(name)} is not allowed: {reason(name) or _UNKNOWN}")


def _field_type(field: FieldDescriptor, *, is_allowed: bool) -> FieldType:
    inner = field.message_type
    is_map = inner is not None and inner.GetOptions().map_entry
    is_json = any(field.full_name.endswith(f".{each}") for each in _JSON)
    needs_check = field.is_repeated or inner or field.enum_type or is_json or any(find_bounds(field))
    return FieldType(
        field.name,
        is_plain=is_allowed and not needs_check,
        is_kind=is_allowed and inner is not None and not field.is_repeated and _excludes_others(field),
        is_allowed=is_allowed,
        is_json=is_json,
        is_map=is_map,
        is_repeated=field.is_repeated,
        holds_messages=inner is not None and (not is_map or inner.fields_by_name["value"].message_type is not None),
        enum=None if field.enum_type is None else field.enum_type.values_by_number,
        descriptor=field,
    )


def _excludes_others(field: FieldDescriptor) -> bool:
    """Whether a field is one of several alternatives of a `oneof`; an `optional` field is the only one of its `oneof`."""
    return field.containing_oneof is not None and len(field.containing_oneof.fields) > 1


def _subject(name: str, field: FieldDescriptor) -> str:
    """Return the name for a refused field: its message type if the type has its own reason, else the field."""
    inner = field.message_type
    type_name = "" if inner is None else short_name(inner)
    return type_name if type_name and type_name not in ALLOWED and reason(type_name) else f"{name}.{field.name}"
