"""Checks of values in messages: names of tables, options and numbers."""

import re
from collections.abc import Mapping
from typing import Final

from headgate.control.catalog.table_properties import TABLE_PROPERTIES, is_own_key, is_snapshot_note
from headgate.spark.gateway.errors import RequestRefusedError

_NOT_IN_A_NAME: Final = "/\\:#"
"""Characters of paths that no table name of Headgate has; Iceberg treats an identifier with a slash as a path."""

MAX_NAME: Final = 65_536
"""The limit of characters of a table's full name, with its catalog and database."""

_MAX_DIGITS: Final = 1000
_EXPONENT: Final = re.compile(r"[eE][+-]?0*([0-9]+)")


def check_decimal(number: str) -> None:
    """Raise `RequestRefusedError` for a decimal number of many digits: Spark writes all digits out, which can take minutes."""
    exponent = _EXPONENT.search(number)
    is_far = exponent is not None and (len(exponent[1]) > len(str(_MAX_DIGITS)) or int(exponent[1]) > _MAX_DIGITS)
    if is_far or len(number) > _MAX_DIGITS:
        raise RequestRefusedError(
            f"a decimal number in the request has more than {_MAX_DIGITS:,} digits; use fewer digits"
        )


def check_name(name: str) -> None:
    """Raise `RequestRefusedError` if the name of a table, view or database could be a path."""
    if len(name) > MAX_NAME:
        raise RequestRefusedError(f"the name of a table has more than {MAX_NAME:,} characters; use a shorter name")
    if any(character in name for character in _NOT_IN_A_NAME):
        raise RequestRefusedError(
            f"`{name}` is not the name of a table, view or database: it contains `/`, `\\`, `:` or `#`; name a table, "
            "or use the path in a pipeline, through a connection that the pipeline declares"
        )


def check_options(given: Mapping[str, str], allowed: frozenset[str], described: str) -> None:
    """Raise `RequestRefusedError` for an option that is not in `allowed`; `described` has `{}` for the key of the option."""
    for key in given:
        if key.lower() not in allowed:
            raise RequestRefusedError(f"{described.format(key)} is not allowed; leave it out")


def check_write_options(given: Mapping[str, str], allowed: frozenset[str], described: str) -> None:
    """Check the options of a table write like `check_options`; the notes of a snapshot (`snapshot-property.*`) are allowed."""
    check_options({key: value for key, value in given.items() if not is_snapshot_note(key)}, allowed, described)


def check_property_keys(given: Mapping[str, str]) -> None:
    """Raise `RequestRefusedError` for a table property that is neither listed nor the owner's own; the catalog checks values."""
    others = {key: value for key, value in given.items() if not is_own_key(key)}
    check_options(others, TABLE_PROPERTIES, "the table property `{}`")
