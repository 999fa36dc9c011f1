"""What the files of a scenario are made of: values as YAML and JSON give them, read as what is expected."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value] | None"

Entry = Mapping[str, Value]
"""A mapping of a file: a world, one of its entries, a case, a step, a question."""

_DAY = 86_400.0


class ScenarioError(Exception):
    """A world or a case says what neither the format nor the model knows; the message names it."""


def entry(value: Value) -> Entry:
    """Return a mapping. Raises `ScenarioError` for anything else."""
    if not isinstance(value, Mapping):
        raise ScenarioError(f"`{value}` should be a mapping")
    return value


def items(value: Value) -> tuple[Value, ...]:
    """Return the members of a list; a single value is a list of one, nothing an empty one."""
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return (value,)


def text(source: Entry, key: str) -> str:
    """Return the word that stands under a key. Raises `ScenarioError` if there is none."""
    found = source.get(key)
    if not isinstance(found, str):
        raise ScenarioError(f"`{key}` is missing, or is no word")
    return found


def first(source: Entry, *keys: str) -> str | None:
    """Return the word under the first of these keys that is there; None if none is."""
    return next((text(source, key) for key in keys if source.get(key) is not None), None)


def word(value: Value) -> str:
    """Return a single value as the word that facts hold: `true`, `false`, or as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ScenarioError(f"`{value}` should be a single word")


def words(value: Value) -> tuple[str, ...]:
    """Return a value, or each value of a list, as words."""
    return tuple(word(each) for each in items(value))


def later(now: float, offset: str) -> float:
    """Return the time that an offset like `+30d` after `now` (seconds). Raises `ScenarioError` for another form."""
    days = offset.removeprefix("+").removesuffix("d")
    if offset != f"+{days}d" or not days.isdecimal():
        raise ScenarioError(f"`{offset}` is no time; write days from now, like `+30d`")
    return now + int(days) * _DAY
