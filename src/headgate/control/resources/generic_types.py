"""Generic resource types, which the commands for any resource create and change, and types that have their own commands."""

from collections.abc import Mapping

from headgate.control.kernel.errors import InvalidError

_OTHERWISE: Mapping[str, str] = {
    "group": "group",
    "service_principal": "service principal",
    "token": "token",
    "access": "access agreement",
    "change_request": "change request",
}
"""Types with their own commands, which create and change more than the resource."""


def require_generic_type(type: str) -> None:
    """Raise `InvalidError` for a type that has its own commands."""
    if type in _OTHERWISE:
        raise InvalidError(
            f"a `{type}` cannot be created or changed as a generic resource; use the commands for {_OTHERWISE[type]}s"
        )
