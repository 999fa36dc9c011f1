"""Consistency of a change with the facts before it: what it refers to exists, and the id that it introduces is free.

The control plane writes consistent changes only. A file can be edited by hand, and a change with a misspelt id would have
no effect, silently.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from headgate.facts import changes as c
from headgate.facts.snapshot import NO_NAMES, NOTHING_HELD, Snapshot


class Inconsistency(NamedTuple):
    """The id that does not fit, and what is wrong with it, as a clause.

    `known` are the ids of the same kind that exist, if the id is unknown, else None.
    """

    id: str
    text: str
    known: frozenset[str] | None = None


def find_inconsistency(facts: Snapshot, change: c.Change) -> Inconsistency | None:
    """Return the first id of a change that does not fit these facts; None if the change can follow them."""
    return find_log_inconsistency(facts, change) or _find_newly_refused(facts, change)


def find_log_inconsistency(facts: Snapshot, change: c.Change) -> Inconsistency | None:
    """Return the first id of a change of a log that does not fit these facts.

    Earlier versions of Headgate wrote two changes that are refused today: an assignment to a deleted team, and a second
    resource of one name. They are not reported.
    """
    if isinstance(change, c.OrganizationCreated):
        return _find_second_organization(facts, change)
    if facts.organization is None:
        return Inconsistency("organization", "no earlier change creates the organization (`OrganizationCreated`)")
    return _find_used_id(facts, change) or _find_unknown_id(facts, change) or _find_impossibility(facts, change)


def _find_second_organization(s: Snapshot, change: c.OrganizationCreated) -> Inconsistency | None:
    if s.organization is None:
        return None
    return Inconsistency(change.organization, "the organization was created by an earlier change")


def _find_used_id(s: Snapshot, change: c.Change) -> Inconsistency | None:
    field = _INTRODUCED.get(type(change))
    id = getattr(change, field) if field else None
    if id is None or not any(id in known for known in (s.principals, s.groups, s.tokens, s.resources, s.requests)):
        return None
    return Inconsistency(id, f"the id `{id}` is in use already, and an id names one thing only")


def _find_unknown_id(s: Snapshot, change: c.Change) -> Inconsistency | None:
    references = _REFERENCES.get(type(change), {})
    found = (_find_unknown(s, kind, getattr(change, field)) for field, kind in references.items())
    return next(filter(None, found), None)


def _find_unknown(s: Snapshot, kind: str, id: str | None) -> Inconsistency | None:
    known: list[Mapping[Any, object]] = [getattr(s, name) for name in _KINDS[kind]]
    if id is None or any(id in each for each in known):
        return None
    return Inconsistency(id, f"no {kind} has the id `{id}`", frozenset(chain.from_iterable(known)))


def _find_impossibility(s: Snapshot, change: c.Change) -> Inconsistency | None:
    match change:
        case c.RoleRevoked():
            return _find_missing_assignment(s, change)
        case c.ResourceRenamed(id, parent) if id in (parent, *(each.id for each in s.ancestors(parent))):
            return Inconsistency(id, f"`{id}` would be moved below itself")
        case c.ResourceDeleted(s.organization):
            return Inconsistency(change.resource, "the organization itself cannot be deleted")
        case _:
            return None


def _find_missing_assignment(s: Snapshot, change: c.RoleRevoked) -> Inconsistency | None:
    held = s.assignments.get(change.subject, NOTHING_HELD)
    if (change.role, change.resource, change.reason) in held:
        return None
    why = f" for the reason `{change.reason}`" if change.reason else ""
    text = f"`{change.subject}` was not assigned the role `{change.role}` on `{change.resource}`{why}"
    roles = frozenset(role for role, place, _ in held if place == change.resource and role != change.role)
    return Inconsistency(change.role, text, roles)


def _find_newly_refused(s: Snapshot, change: c.Change) -> Inconsistency | None:
    match change:
        case c.RoleAssigned(subject):
            return _find_unknown(s, "subject", subject)
        case c.ResourceCreated(id, _, parent, name) | c.ResourceRenamed(id, parent, name):
            is_free = s.children.get(parent, NO_NAMES).get(name, id) == id
            text = f"`{parent}` contains another resource with the name `{name}`"
            return None if is_free else Inconsistency(name, text)
        case _:
            return None


_INTRODUCED: Mapping[type, str] = {
    c.PrincipalAdded: "principal",
    c.GroupCreated: "group",
    c.TokenIssued: "token",
    c.ResourceCreated: "resource",
    c.AccessRequested: "access",
    c.ChangeRequested: "request",
    c.RequestFiled: "request",
}
"""The field with the new id, by type of change."""

_REFERENCES: Mapping[type, Mapping[str, str]] = {
    c.PrincipalExpires: {"principal": "principal"},
    c.PrincipalRemoved: {"principal": "principal"},
    c.GroupDeleted: {"group": "group"},
    c.MemberAdded: {"group": "group", "principal": "principal"},
    c.MemberRemoved: {"group": "group", "principal": "principal"},
    c.TokenIssued: {"principal": "principal", "parent": "resource", "acts_in": "resource"},
    c.TokenRevoked: {"token": "token"},
    c.ResourceCreated: {"parent": "resource"},
    c.ResourceRenamed: {"resource": "resource", "parent": "resource"},
    c.ResourceDeleted: {"resource": "resource"},
    c.RelationsSet: {"resource": "resource"},
    c.AttributesSet: {"resource": "resource"},
    c.SettingChanged: {"resource": "resource"},
    c.GovernedBy: {"resource": "resource"},
    c.ModelUpgraded: {"model": "access model"},
    c.ModelRemoved: {"model": "installed access model"},
    c.CustomRoleDeleted: {"name": "custom role"},
    c.AccessRequested: {"port": "resource", "consumer": "subject"},
    c.AccessApproved: {"access": "access agreement"},
    c.AccessEnded: {"access": "access agreement"},
    c.AccessDeleted: {"access": "access agreement"},
    c.ChangeRequested: {"resource": "resource"},
    c.ChangeDecided: {"request": "change request"},
    c.RequestFiled: {"author": "principal", "resource": "resource"},
    c.RequestDecided: {"request": "access request"},
    c.RunAsSet: {"resource": "resource", "principal": "principal"},
    c.RunStarted: {"pipeline": "resource", "run_as": "principal"},
    c.RoleAssigned: {"resource": "resource"},
    c.RoleRevoked: {"subject": "subject", "resource": "resource"},
    c.RunEnded: {"run": "run"},
}
"""The fields with an id that must exist, and the kind of the id. Others may name what was deleted: a grantor, an edge's target."""

_KINDS: Mapping[str, tuple[str, ...]] = {
    "principal": ("principals",),
    "group": ("groups",),
    "subject": ("principals", "groups", "resources"),  # a team or domain is a resource
    "token": ("tokens",),
    "resource": ("resources",),
    "access model": ("model_hashes",),
    "installed access model": ("installed_models",),
    "custom role": ("custom_roles",),
    "access agreement": ("agreements",),
    "change request": ("change_requests",),
    "access request": ("requests",),
    "run": ("runs",),
}
"""The fields of the snapshot with the ids of a kind."""
