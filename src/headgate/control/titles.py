"""What people, programs and groups can be called, and which names are too much alike for two of them."""

import re

from headgate.control.command import InvalidError, View
from headgate.control.logins.names import folded
from headgate.control.scripts import describe_letter_fault

_LONGEST = 100
_WORDS = re.compile(r"[^\s/\\]+(?: [^\s/\\]+)*")


def usable_title(view: View, title: str) -> None:
    """Raise `InvalidError` for what nobody can be called. The deployment itself may call them as it knows them."""
    if view.caller is None:
        return
    if len(title) > _LONGEST or not title.isprintable() or not _WORDS.fullmatch(title):
        raise InvalidError(
            f"a name is 1 to {_LONGEST} letters, digits and signs, without slashes, and with single spaces in between"
        )
    fault = next(filter(None, map(describe_letter_fault, title.split(" "))), None)
    if fault is not None:
        # Or a Cyrillic letter in the middle makes a second `admin`.
        raise InvalidError(f"`{title}` cannot be a name: {fault} in each word")


def alike(title: str) -> str:
    """Return the one spelling of all names that people would take for this one."""
    return folded(title)
