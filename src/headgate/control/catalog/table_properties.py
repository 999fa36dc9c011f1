"""Allow list of table properties: one list for every endpoint, and for the guard inside Spark."""

import json
import re
from pathlib import Path
from typing import Final, cast

LISTS: Final = Path(__file__).parent / "lists"
"""The folder of the lists, which the build of the guard reads too."""
LONGEST: Final = 1024
"""The maximum length of a value, in characters."""
_MAPPING: Final = "schema.name-mapping.default"
_LONGEST_MAPPING: Final = 1024 * 1024
_NOTE: Final = re.compile(r"[a-z0-9_-]{1,100}")
_OWN: Final = re.compile(r"(?=.{1,100}$)[a-z0-9_-]+(\.[a-z0-9_-]+)+")
_WORD: Final = re.compile(r"[a-z0-9]+")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_RANGE: Final = re.compile(r"(-?\d+)\.\.(\d+)")
_BY_ENGINES: Final = frozenset({"owner"})
"""Reserved properties that engines set by themselves at a create; Headgate ignores them."""


def _lines(name: str) -> tuple[str, ...]:
    """Return the entries of a list: one in each line; a text after `#` is a comment."""
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(entry for line in lines if (entry := line.partition("#")[0].strip()))


_VALUES: Final = {each.split()[0]: each.split()[1] for each in _lines("table-properties")}
_RESERVED: Final = frozenset(_lines("reserved-properties"))
_NAMESPACES: Final = frozenset(_lines("reserved-namespaces"))
_WORDS: Final = _lines("reserved-words")
_SUMMARY_WORDS: Final = frozenset(_lines("reserved-summary-words"))
_SNAPSHOT: Final = "snapshot-property."
TABLE_PROPERTIES: Final = frozenset(_VALUES)
"""The listed keys, in lower case."""


def describe_property_fault(key: str, value: str) -> str | None:
    """Return why a table property cannot be set to this value, and which values are valid; None if it can.

    A key that means nothing to an engine is the owner's own, and may be set.
    """
    name = key.lower()
    if len(value) > (_LONGEST_MAPPING if name == _MAPPING else LONGEST):
        return f"the value of the property `{key}` is too long; shorten it"
    values = _VALUES.get(name)
    if values is None:
        if is_own_key(key) or name in _BY_ENGINES:
            return None
        return (
            f"the property `{key}` cannot be set on a table; leave it out, or use a key of your own, such as `my.note`"
        )
    return (
        None
        if _is_among(value, values)
        else f"the property `{key}` must be {_describe_values(values)}, not `{value[:100]}`"
    )


def is_own_key(key: str) -> bool:
    """Whether only the owner gives the key a meaning: no engine or library reads it, and it names no class, place or secret."""
    name = key.lower()
    if _NOTE.fullmatch(name):
        return name not in _RESERVED
    if not key.isascii() or not _OWN.fullmatch(name) or name.partition(".")[0] in _NAMESPACES:
        return False
    return not any(each.endswith(_WORDS) for each in _WORD.findall(name))


def is_snapshot_note(option: str) -> bool:
    """Whether the option of a write, `snapshot-property.<key>`, adds a key of the owner's own to the summary of a snapshot."""
    if option[: len(_SNAPSHOT)].lower() != _SNAPSHOT:
        return False
    key = option[len(_SNAPSHOT) :]
    first = _WORD.match(key.lower())
    return is_own_key(key) and first is not None and first[0] not in _SUMMARY_WORDS


def _is_among(value: str, values: str) -> bool:
    if values == "text":
        return True
    if values == "name-mapping":
        return _is_name_mapping(value)
    if values == "flag":
        return value.lower() in ("true", "false")
    limits = _RANGE.fullmatch(values)
    if limits is None:
        return value.lower() in values.split("|")
    return _NUMBER.fullmatch(value) is not None and int(limits[1]) <= int(value) <= int(limits[2])


def _describe_values(values: str) -> str:
    if values == "flag":
        return "`true` or `false`"
    if values == "name-mapping":
        return "a name mapping as in the Iceberg specification"
    limits = _RANGE.fullmatch(values)
    return f"a whole number from {limits[1]} to {limits[2]}" if limits else f"one of `{values.replace('|', '`, `')}`"


def _is_name_mapping(value: str) -> bool:
    try:
        return _are_mapped_fields(json.loads(value))
    except (ValueError, RecursionError):
        return False


def _are_mapped_fields(fields: object) -> bool:
    return isinstance(fields, list) and all(map(_is_mapped_field, cast("list[object]", fields)))


def _is_mapped_field(field: object) -> bool:
    if not isinstance(field, dict):
        return False
    known = cast("dict[str, object]", field)
    id, names = known.get("field-id"), known.get("names", [])
    is_named = isinstance(names, list) and all(isinstance(each, str) for each in cast("list[object]", names))
    is_known = known.keys() <= {"field-id", "names", "fields"} and (id is None or type(id) is int)
    return is_named and is_known and _are_mapped_fields(known.get("fields", []))
