"""What people, programs and groups can be called, and which names are too much alike for two of them."""

import re

from headgate.control.command import InvalidError, View
from headgate.control.logins.names import folded

_LONGEST = 100
_USABLE = re.compile(r"[\w.@+-]+(?: [\w.@+-]+)*")


def usable_title(view: View, title: str) -> None:
    """Raise `InvalidError` for what nobody can be called. The deployment itself may call them as it knows them."""
    if view.caller is not None and not (len(title) <= _LONGEST and _USABLE.fullmatch(title)):
        raise InvalidError(
            f"`{title}` cannot be a name: 1 to {_LONGEST} letters, digits, `.`, `@`, `+`, `_`, `-` and single spaces"
        )


def alike(title: str) -> str:
    """Return the one spelling of all names that people would take for this one."""
    return folded(title)
