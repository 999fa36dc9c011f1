"""Values that messages hold: names of tables, options, and numbers."""

import re
from collections.abc import Mapping
from typing import Final

from headgate.spark.gateway.errors import RequestRefusedError

_NOT_IN_A_NAME: Final = "/\\:#"
"""What a path has and a table of ours has not; Iceberg takes an identifier with a slash for a path."""

MAX_NAME: Final = 65_536
"""Characters of the name of a table, with the names of what it lies in."""

_MAX_DIGITS: Final = 1000
_EXPONENT: Final = re.compile(r"[eE][+-]?0*([0-9]+)")


def check_decimal(number: str) -> None:
    """Raise `RequestRefusedError` for a decimal number of many digits: Spark writes it out, which can take minutes."""
    exponent = _EXPONENT.search(number)
    is_far = exponent is not None and (len(exponent[1]) > len(str(_MAX_DIGITS)) or int(exponent[1]) > _MAX_DIGITS)
    if is_far or len(number) > _MAX_DIGITS:
        raise RequestRefusedError(f"a decimal number has more than {_MAX_DIGITS:,} digits; use fewer")


def check_name(name: str) -> None:
    """Raise `RequestRefusedError` if the name of a table, view or database could be a path."""
    if len(name) > MAX_NAME:
        raise RequestRefusedError(f"the name of a table has more than {MAX_NAME:,} characters; use a shorter one")
    if any(character in name for character in _NOT_IN_A_NAME):
        raise RequestRefusedError(
            f"`{name}` is not the name of a table; paths are reached through a declared connection only"
        )


def check_options(given: Mapping[str, str], allowed: frozenset[str], what: str) -> None:
    """Raise `RequestRefusedError` for an option that is not on the list; `what` names it to the user."""
    for key in given:
        if key.lower() not in allowed:
            raise RequestRefusedError(f"the {what} `{key}` is not allowed")
