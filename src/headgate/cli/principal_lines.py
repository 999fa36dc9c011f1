"""A user or service principal as lines of text."""

from collections.abc import Mapping
from typing import Any


def lines_of_principal(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names and values to print for a principal of the API."""
    held = "; ".join(f"{each['role']} on {each['resource']}" for each in found["held"])
    return {"id": found["id"], "name": found["name"], "groups": ", ".join(found["groups"]), "roles": held}
