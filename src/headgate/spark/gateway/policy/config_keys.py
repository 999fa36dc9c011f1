"""Configuration keys that users may read or change, loaded from the resource files of the guard so that both use the same lists.

A key of one's own is a plain word, or begins with `my.` or `app.`: Hadoop reads every key of a session, and knows none of these.
"""

import re
from typing import Final

from headgate.spark.gateway.policy.guard_lists import read_first_words, read_lines

_RANGE: Final = re.compile(r"(\d{1,15})\.\.(\d{1,15})")
_OWN: Final = re.compile(r"(?!(?i:path)$)[A-Za-z0-9_-]{1,100}|(?:my|app)\.[A-Za-z0-9_.-]{1,100}")
"""`SET PATH` is a statement of later Spark versions, which changes how names are resolved."""
_LONGEST_VALUE: Final = 1000
"""Characters of a value: the driver keeps it as long as the session."""
_SIZE: Final = re.compile(r"(\d{1,15})(?:([kmgtp])?b?)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}


def _read_range(words: list[str]) -> tuple[range, bool] | None:
    """Return the numbers of a line that a value may have, and whether it may be a size such as `64m`; None for any value."""
    found = _RANGE.fullmatch(words[0]) if words else None
    return (range(int(found[1]), int(found[2]) + 1), "bytes" in words) if found else None


_LINES: Final = {words[0]: words[1:] for words in read_lines("settings")}
SETTABLE: Final = {key: _read_range(words) for key, words in _LINES.items()}
"""The keys that users may change and read in their own session, each with the numbers that its value may have."""
_CHOICES: Final = {key: words[0].split("|") for key, words in _LINES.items() if words and not SETTABLE[key]}
"""The keys that may have a few values only, each with these."""
_READABLE: Final = read_first_words("readable-settings")
_READABLE_BEGINNINGS: Final = tuple(key[:-1] for key in _READABLE if key.endswith("*"))


def is_own(key: str) -> bool:
    """Return whether the key is one of the user's own, which neither Spark nor Hadoop knows."""
    return _OWN.fullmatch(key) is not None


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
    choices = _CHOICES.get(key)
    if choices and value.upper() not in (choice.upper() for choice in choices):
        return f"the configuration key `{key}` can have only some values here; set {' or '.join(f'`{each}`' for each in choices)}"
    bounds = SETTABLE.get(key)
    if bounds is None or _parse_number(value, is_size=bounds[1]) in bounds[0]:
        return None
    least, most = bounds[0].start, bounds[0].stop - 1
    return f"the value of the configuration key `{key}` is out of range; set a number from {least} to {most}"


def _parse_number(value: str, *, is_size: bool) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None or (found[2] and not is_size):
        return -1
    return int(found[1]) * _UNITS[(found[2] or "").lower()]
