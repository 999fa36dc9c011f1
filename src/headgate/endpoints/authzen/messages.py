"""Parsing of AuthZEN request bodies, and the error messages for malformed ones.

Uses no web framework on purpose: parsing a body into models costs more than a decision. Unknown fields are ignored, as
the specification requires.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from headgate.control.kernel.audit_records import REFUSED, Denial
from headgate.control.text.timestamps import parse_timestamp
from headgate.facts.ids import ResourceId

JSON = "application/json"

NOTHING: Mapping[str, Any] = {}

LONGEST, LONGEST_ACTION = 1000, 100
"""The maximum length in characters of an id or a type, and of an action's name."""

MOST_VALUES = 1000
"""The maximum number of values in the properties of one entity, as `count_values` counts them."""

_A_VALUE = 100
"""The number of characters of a string that count as one value."""


class BadRequestError(Exception):
    """The request, or one evaluation of it, is malformed."""


class ForbiddenError(Exception):
    """The caller may not ask the question: it lacks `action` on the organization `resource`."""

    def __init__(self, message: str, action: str, resource: ResourceId) -> None:
        super().__init__(message)
        self.denial = Denial(REFUSED, action, resource)


class Entity(NamedTuple):
    """A subject or a resource."""

    type: str
    id: str
    properties: Mapping[str, Any] = NOTHING


class EvaluationOptions(NamedTuple):
    """Headgate's options in an evaluation's `context`: a minimum revision, a past revision or time, and whether to explain.

    Times are in seconds since the epoch.
    """

    at_least: int = 0
    as_of_revision: int | None = None
    as_of_time: float | None = None
    explain: bool = False

    @property
    def past(self) -> bool:
        """Whether the question is about past facts."""
        return self.as_of_revision is not None or self.as_of_time is not None


NOW = EvaluationOptions()
"""The default: the newest facts, without reasons."""


def read_message(content_type: str, body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a body. Raises `BadRequestError` if the body is anything else."""
    if content_type.partition(";")[0].strip().lower() != JSON:
        raise BadRequestError(f"the body has another content type than JSON; send it as `Content-Type: {JSON}`")
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadRequestError("the body is not valid JSON; send a JSON object") from None
    if not isinstance(found, dict):
        raise BadRequestError("the body is not a JSON object; send one")
    return found


def object_at(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object under a key. Raises `BadRequestError` if there is none."""
    found = source.get(key)
    if not isinstance(found, dict):
        raise BadRequestError(
            f"`{key}` is missing; add it to the request"
            if found is None
            else (f"`{key}` is not a JSON object; send an object")
        )
    return found


def optional(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object under a key; an empty one if the key is missing or null."""
    return NOTHING if source.get(key) is None else object_at(source, key)


def word(source: Mapping[str, Any], key: str, of: str, longest: int = LONGEST) -> str:
    """Return the string under a key of the object that messages call `of`.

    Raises `BadRequestError` if the string is missing, empty or longer than `longest` characters.
    """
    found = source.get(key)
    if not isinstance(found, str) or not found:
        raise BadRequestError(
            f"`{of}.{key}` is missing; add it to the request"
            if found is None
            else (f"`{of}.{key}` is empty or not a string; send a string of at least one character")
        )
    if len(found) > longest:
        raise BadRequestError(f"`{of}.{key}` has {len(found):,} characters; send at most {longest:,}")
    return found


def count_values(properties: Mapping[str, Any]) -> int:
    """Return the number of values in properties, including those in lists and objects; a long string or key counts as several."""
    counted, unread = 0, list[Any]((properties,))
    while unread:
        each = unread.pop()
        if isinstance(each, dict):
            counted += len(each)
            unread += (*each, *each.values())
        elif isinstance(each, list):
            counted += len(each)
            unread += each
        elif isinstance(each, str):
            counted += len(each) // _A_VALUE
    return counted


def parse_entity(source: Mapping[str, Any], key: str) -> Entity:
    """Return a subject or resource."""
    found = object_at(source, key)
    type, id = found.get("type"), found.get("id")
    if (
        isinstance(type, str)
        and isinstance(id, str)
        and 0 < len(type) <= LONGEST
        and 0 < len(id) <= LONGEST
        and "properties" not in found
    ):
        return Entity(type, id)
    return Entity(word(found, "type", key), word(found, "id", key), _properties(found, key))


def parse_searched_type(source: Mapping[str, Any], key: str) -> str:
    """Return the type to search for; an `id` beside it is ignored."""
    return word(object_at(source, key), "type", key)


def parse_action(source: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the properties of the action."""
    found = object_at(source, "action")
    name = found.get("name")
    if isinstance(name, str) and 0 < len(name) <= LONGEST_ACTION and "properties" not in found:
        return name, NOTHING
    return word(found, "name", "action", LONGEST_ACTION), _properties(found, "action")


def parse_context(source: Mapping[str, Any]) -> EvaluationOptions:
    """Return Headgate's options in the context; an option that is left out has its default."""
    found = optional(source, "context")
    revision, time = _as_of(found.get("as_of"))
    return EvaluationOptions(_number(found, "at_least"), revision, time, explain=_switch(found, "explain"))


def _properties(source: Mapping[str, Any], of: str) -> Mapping[str, Any]:
    found = optional(source, "properties")
    if (there := count_values(found)) > MOST_VALUES:
        raise BadRequestError(f"`{of}.properties` has {there:,} values; send at most {MOST_VALUES:,}")
    return found


def _number(source: Mapping[str, Any], key: str) -> int:
    found = source.get(key, 0)
    if not _is_revision(found):
        raise BadRequestError(f"`context.{key}` is not a revision; send a whole number, 0 or more")
    return found


def _switch(source: Mapping[str, Any], key: str) -> bool:
    found = source.get(key, False)
    if not isinstance(found, bool):
        raise BadRequestError(f"`context.{key}` is neither `true` nor `false`; send one of them")
    return found


def _as_of(value: object) -> tuple[int | None, float | None]:
    if value is None:
        return None, None
    if isinstance(value, int) and _is_revision(value):
        return value, None
    try:
        return None, parse_timestamp(value if isinstance(value, str) else "")
    except (ValueError, OverflowError):  # not a time, or out of range
        raise BadRequestError(
            "`context.as_of` is neither a revision nor a time; send a whole number, or an RFC 3339 time with a time zone"
        ) from None


def _is_revision(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
