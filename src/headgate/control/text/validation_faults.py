"""Validation faults as plain sentences: the place of each one, in the caller's field names, and what to write instead.

Pydantic names its internal types in both (`dict[function-after[...]]`, `Input should be a valid dictionary`). Every package
that puts a validation error into a response takes its text from here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from headgate.control.text.quoted_text import shorten_quotes

Error = Mapping[str, Any]
"""One of `pydantic.ValidationError.errors()`."""

_MUST_BE: Final = "the value must be "
_OTHER: Final = "the value does not have the form of this field"
_BINARY: Final = "the body must be JSON; send it with `Content-Type: application/json`"
_LIST: Final = f"{_MUST_BE}a list"
_OBJECT: Final = f"{_MUST_BE}an object with named fields"
_INTEGER: Final = f"{_MUST_BE}an integer"
_NUMBER: Final = f"{_MUST_BE}a number"
_DATE: Final = f"{_MUST_BE}a date, for example `2026-01-31`"
_DATETIME: Final = f"{_MUST_BE}a date with a time, for example `2026-01-31T12:00:00Z`"
_TIME: Final = f"{_MUST_BE}a time, for example `12:00:00`"
_URL: Final = f"{_MUST_BE}a URL"
_UUID: Final = f"{_MUST_BE}a UUID"
_MISSING: Final = "the field is missing; add it"
_UNKNOWN: Final = "there is no such field; remove it"

MOST: Final = 100
"""How many errors of one form are examined: a form with thousands of wrong fields has an error for each."""
LISTED: Final = 20
"""How many faults a response lists."""

SENTENCES: Final[Mapping[str, str]] = {
    "assertion_error": "{error}",
    "bool_parsing": f"{_MUST_BE}true or false",
    "bool_type": f"{_MUST_BE}true or false",
    "dataclass_type": _OBJECT,
    "date_from_datetime_inexact": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_parsing": _DATE,
    "date_type": _DATE,
    "datetime_from_date_parsing": _DATETIME,
    "datetime_object_invalid": _DATETIME,
    "datetime_parsing": _DATETIME,
    "datetime_type": _DATETIME,
    "decimal_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "dict_type": _OBJECT,
    "enum": f"{_MUST_BE}one of {{expected}}",
    "extra_forbidden": _UNKNOWN,
    "finite_number": f"{_MUST_BE}a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "frozen_set_type": _LIST,
    "greater_than": f"{_MUST_BE}greater than {{gt}}",
    "greater_than_equal": f"{_MUST_BE}at least {{ge}}",
    "int_from_float": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": "the integer has too many digits; use a smaller number",
    "int_type": _INTEGER,
    "invalid_key": "the name of a field must be a string",
    "iterable_type": _LIST,
    "json_invalid": "the JSON cannot be read: {error}",
    "json_type": f"{_MUST_BE}JSON",
    "less_than": f"{_MUST_BE}less than {{lt}}",
    "less_than_equal": f"{_MUST_BE}at most {{le}}",
    "list_type": _LIST,
    "literal_error": f"{_MUST_BE}{{expected}}",
    "mapping_type": _OBJECT,
    "missing": _MISSING,
    "missing_argument": _MISSING,
    "missing_keyword_only_argument": _MISSING,
    "missing_positional_only_argument": _MISSING,
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "multiple_of": f"{_MUST_BE}a multiple of {{multiple_of}}",
    "none_required": f"{_MUST_BE}null",
    "recursion_depth_exceeded": "the value is nested too deeply; use fewer levels",
    "recursion_loop": "the value is nested too deeply; use fewer levels",
    "set_type": _LIST,
    "string_pattern_mismatch": "the string must match the pattern `{pattern}`",
    "string_too_long": "the string is too long; at most {max_length} characters are allowed",
    "string_too_short": "the string is too short; at least {min_length} characters are needed",
    "string_type": f"{_MUST_BE}a string",
    "string_unicode": f"{_MUST_BE}a string in UTF-8",
    "time_parsing": _TIME,
    "time_type": _TIME,
    "too_long": "there are too many entries; at most {max_length} are allowed",
    "too_short": "there are too few entries; at least {min_length} are needed",
    "tuple_type": _LIST,
    "unexpected_keyword_argument": _UNKNOWN,
    "unexpected_positional_argument": "there are too many entries; remove some",
    "union_tag_invalid": "{discriminator} cannot be '{tag}'; write one of {expected_tags}",
    "union_tag_not_found": "the field {discriminator} is missing; add it",
    "url_parsing": _URL,
    "url_scheme": "the URL must begin with {expected_schemes}",
    "url_syntax_violation": _URL,
    "url_too_long": "the URL is too long; at most {max_length} characters are allowed",
    "url_type": _URL,
    "uuid_parsing": _UUID,
    "uuid_type": _UUID,
    "value_error": "{error}",
}
"""The sentence for each error type of Pydantic. Any other type gets `_OTHER`, which names no internal type of Headgate."""

_ROOTS: Final = frozenset(("body", "query", "path", "header", "cookie"))
"""The first part of a location, which the framework adds: the part of the request."""
_ABSENT: Final = object()

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its place in a form. The place is empty for the whole form."""

    place: _Path
    sentence: str

    @property
    def at(self) -> str:
        """The place as text, its parts joined by dots."""
        return ".".join(map(str, self.place))


def find_faults(errors: Sequence[Error], form: object) -> list[Fault]:
    """Return the faults of a form, the value that was validated: one for each place, of the first `MOST` errors.

    If a value can have one of several forms, the faults of the nearest form are reported.
    """
    found = dict[_Path, list[str]]()
    for each in errors[:MOST]:
        sentences = found.setdefault(_place(each, form), [])
        sentence = _sentence(each)
        if sentence not in sentences:
            sentences.append(sentence)
    outer = {place[:depth] for place in found for depth in range(len(place))}
    return [
        Fault(place, _join_sentences(said))
        for place, said in found.items()
        if place not in outer or not _is_about_types(said)
    ]


def list_reported_faults(errors: Sequence[Error], form: object) -> tuple[list[Fault], int]:
    """Return the faults that a response lists, and the maximum number of further ones: one fault may have several errors."""
    found = find_faults(errors, form)
    return found[:LISTED], max(0, len(found) - LISTED) + max(0, len(errors) - MOST)


def first_fault(errors: Sequence[Error], form: object) -> Fault:
    """Return the first fault of a form, which must have one."""
    return find_faults(errors, form)[0]


def _is_about_types(sentences: Sequence[str]) -> bool:
    """Return whether the sentences only name the forms that a value could have."""
    return all(each.startswith(_MUST_BE) for each in sentences)


def _join_sentences(sentences: Sequence[str]) -> str:
    """Join several sentences about one value, each about a form that the value could have."""
    first, *rest = sentences
    if _is_about_types(sentences):
        rest = [each.removeprefix(_MUST_BE) for each in rest]
    return ", or ".join((first, *rest))


def _sentence(error: Error) -> str:
    if error["type"] == "model_attributes_type" and isinstance(error.get("input"), bytes):
        return _BINARY
    kind = error["type"]
    if kind in ("too_long", "too_short") and isinstance(error.get("input"), str):
        kind = f"string_{kind}"  # behind another validator, Pydantic checks the length as that of a list
    template = SENTENCES.get(kind, _OTHER)
    try:
        return shorten_quotes(template.format_map(error.get("ctx", {})))
    except KeyError:
        return _OTHER


def _place(error: Error, form: object) -> _Path:
    """Return the place of an error, without the type names that Pydantic puts between the field names."""
    location: _Path = tuple(error["loc"])
    root, rest = (location[:1], location[1:]) if location[:1] and location[0] in _ROOTS else ((), location)
    if error["type"] == "json_invalid":
        return root
    if root and root != ("body",):
        return (*root, *rest[:1], *(each for each in rest[1:] if isinstance(each, int)))
    absent = rest[-1:] if SENTENCES.get(error["type"]) == _MISSING else ()
    known = rest[: len(rest) - len(absent)]
    exact = _exact(form, known, error.get("input", _ABSENT), set())
    return (*root, *(_nearest(form, known) if exact is None else exact), *absent)


def _exact(form: object, location: _Path, value: object, dead: set[tuple[int, int]]) -> _Path | None:
    """Return the part of a location that leads to a value, or None. `dead` are the positions that were tried without success."""
    if not location:
        return () if form is value or form == value else None
    if (len(location), id(form)) in dead:
        return None
    inner = _inner(form, location[0])
    found = None if inner is _ABSENT else _exact(inner, location[1:], value, dead)
    if found is not None:
        return (location[0], *found)
    found = _exact(form, location[1:], value, dead)
    if found is None:
        dead.add((len(location), id(form)))
    return found


def _nearest(form: object, location: _Path) -> Iterator[str | int]:
    """Yield the parts of a location that are in the form."""
    for each in location:
        inner = _inner(form, each)
        if inner is not _ABSENT:
            form = inner
            yield each


def _inner(form: object, part: str | int) -> object:
    if isinstance(form, Mapping):
        return cast("Mapping[object, object]", form).get(part, _ABSENT)
    if isinstance(form, list | tuple) and isinstance(part, int):
        entries = cast("Sequence[object]", form)
        return entries[part] if 0 <= part < len(entries) else _ABSENT
    return _ABSENT
