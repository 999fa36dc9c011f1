"""Values that several messages hold: names of tables, and options."""

from collections.abc import Mapping
from typing import Final

from headgate.spark.gateway.errors import RefusedError

_NOT_IN_A_NAME: Final = "/\\:#"
"""What a path has and a table of ours has not; Iceberg takes an identifier with a slash for a path."""

MAX_NAME: Final = 65_536
"""Characters of the name of a table, with the names of what it lies in."""


def check_name(name: str) -> None:
    """Raise `RefusedError` if the name of a table, view or database could be a path."""
    if len(name) > MAX_NAME:
        raise RefusedError(f"the name of a table has more than {MAX_NAME:,} characters; use a shorter one")
    if any(character in name for character in _NOT_IN_A_NAME):
        raise RefusedError(f"`{name}` is not the name of a table; paths are reached through a declared connection only")


def check_options(given: Mapping[str, str], allowed: frozenset[str], what: str) -> None:
    """Raise `RefusedError` for an option that is not on the list; `what` names it to the user."""
    for key in given:
        if key.lower() not in allowed:
            raise RefusedError(f"the {what} `{key}` is not allowed")
