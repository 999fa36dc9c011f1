"""The list of organizations as an operator sees it."""

from dataclasses import dataclass
from typing import Literal

from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.organization import Organizations
from headgate.facts.ids import ResourceId

OrganizationState = Literal["active", "suspended", "unreadable"]
"""`unreadable`: the log of the organization cannot be read, so every request to it is refused."""


@dataclass(frozen=True, slots=True)
class Described:
    """An organization: its home model, its state, and when it was created (seconds since the epoch)."""

    model: str
    state: OrganizationState
    created: float | None


def describe_organization(organizations: Organizations, id: ResourceId) -> Described:
    """Return the description of a listed organization."""
    try:
        found = organizations.open(id)
        facts, began = found.control.snapshot, found.store.entry(1)
    except StoreError:
        return Described("", "unreadable", None)
    return Described(facts.model, "suspended" if facts.is_suspended else "active", began.at if began else None)
