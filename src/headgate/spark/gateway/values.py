"""Values that several messages hold: names of tables, and options."""

from collections.abc import Mapping
from typing import Final

from headgate.spark.gateway.errors import RefusedError

_NOT_IN_A_NAME: Final = frozenset("/\\:#")
"""What a path has and a table of ours has not; Iceberg takes an identifier with a slash for a path."""


def check_name(name: str) -> None:
    """Raise `RefusedError` if the name of a table, view or database could be a path."""
    if _NOT_IN_A_NAME & set(name):
        raise RefusedError(f"`{name}` is not the name of a table; paths are reached through a declared connection only")


def check_options(given: Mapping[str, str], allowed: frozenset[str], what: str) -> None:
    """Raise `RefusedError` for an option that is not on the list; `what` names it to the user."""
    for key in given:
        if key.lower() not in allowed:
            raise RefusedError(f"the {what} `{key}` is not allowed")
