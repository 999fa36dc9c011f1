"""Types of resources that are made and changed by the commands of every resource, and those that have commands of their own."""

from collections.abc import Mapping

from headgate.control.kernel.errors import InvalidError

_OTHERWISE: Mapping[str, str] = {
    "group": "group",
    "service_principal": "service principal",
    "token": "token",
    "access": "access",
    "change_request": "change request",
}
"""Types that are more than a resource, and whose commands make and change them."""


def require_generic_type(type: str) -> None:
    """Raise `InvalidError` for a type that has commands of its own."""
    if type in _OTHERWISE:
        raise InvalidError(f"a `{type}` is not only a resource; there are commands for {_OTHERWISE[type]}s")
