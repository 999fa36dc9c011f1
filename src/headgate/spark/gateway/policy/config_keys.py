"""Configuration keys that users may read or change, loaded from the resource files of the guard so that both use the same lists.

A key of one's own is a plain word, begins with `my.`, `app.` or `spark.databricks.`, which only another product reads, or is a key
that a table could have as its owner's property: Hadoop reads every key of a session, and knows none of these.
"""

import re
from dataclasses import dataclass
from typing import Final

from headgate.control.catalog.table_properties import is_own_key
from headgate.spark.gateway.policy.guard_lists import read_first_words, read_lines

_OWN: Final = re.compile(r"(?!(?i:path)$)[A-Za-z0-9_-]{1,100}|(?:my|app|spark\.databricks)\.[A-Za-z0-9_.-]{1,100}")
"""`SET PATH` is a statement of later Spark versions, which changes how names are resolved."""
_LONGEST_VALUE: Final = 1000
"""Characters of a value: the driver keeps it as long as the session."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Numbers; a size such as `64m` counts only if `is_size`."""

    least: int
    most: int
    is_size: bool

    def has(self, value: str) -> bool:
        found = _SIZE.fullmatch(value.strip())
        if found is None or (found[2] and not self.is_size):
            return False
        return self.least <= int(found[1]) * _UNITS[(found[2] or "").lower()] <= self.most

    def describe_refusal(self, key: str) -> str:
        return (
            f"the value of the configuration key `{key}` is out of range; set a number from {self.least} to {self.most}"
        )


@dataclass(frozen=True, slots=True)
class _Choices:
    """Words, without regard to case."""

    words: tuple[str, ...]

    def has(self, value: str) -> bool:
        return value.upper() in (word.upper() for word in self.words)

    def describe_refusal(self, key: str) -> str:
        words = " or ".join(f"`{each}`" for each in self.words)
        return f"the configuration key `{key}` cannot have this value here; set {words}"


_RANGE: Final = re.compile(r"(\d{1,15})\.\.(\d{1,15})")
_SIZE: Final = re.compile(r"(\d{1,15})(?:([kmgtp])?b?)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}


def _read_values(words: list[str]) -> _Range | _Choices | None:
    """Return the values in a line of the list; None if Spark alone checks the value."""
    if not words:
        return None
    found = _RANGE.fullmatch(words[0])
    return _Range(int(found[1]), int(found[2]), "bytes" in words) if found else _Choices(tuple(words[0].split("|")))


SETTABLE: Final = {words[0]: _read_values(words[1:]) for words in read_lines("settings")}
"""The keys that users may change and read in their own session, each with the values that it may have."""
_READABLE: Final = read_first_words("readable-settings")
_READABLE_BEGINNINGS: Final = tuple(key[:-1] for key in _READABLE if key.endswith("*"))


def is_own(key: str) -> bool:
    """Return whether the key is one of the user's own, which neither Spark nor Hadoop knows."""
    return _OWN.fullmatch(key) is not None or ("." in key and is_own_key(key))


def is_readable(key: str) -> bool:
    """Return whether users may read the key."""
    return key in SETTABLE or key in _READABLE or key.startswith(_READABLE_BEGINNINGS) or is_own(key)


def describe_refused_key(key: str) -> str | None:
    """Return why users may not change the key, and what to do; None if they may."""
    if key in SETTABLE or is_own(key):
        return None
    return f"the configuration key `{key}` cannot be changed by users; leave it unchanged, or ask the operator"


def describe_refused_setting(key: str, value: str) -> str | None:
    """Return why users may not set the key to the value, and what to do; None if they may."""
    return describe_refused_key(key) or _describe_refused_value(key, value)


def _describe_refused_value(key: str, value: str) -> str | None:
    """Return why the key cannot have the value, and what to do; None if it can."""
    if len(value) > _LONGEST_VALUE:
        return (
            f"the value of the configuration key `{key}` has more than {_LONGEST_VALUE} characters; set a shorter one"
        )
    values = SETTABLE.get(key)
    return None if values is None or values.has(value) else values.describe_refusal(key)
