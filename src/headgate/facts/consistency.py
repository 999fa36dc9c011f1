"""Consistency of a change with the facts before it: what it refers to exists, and the id that it introduces is free.

The control plane writes consistent changes only. A file can be edited by hand, and a change with a misspelt id would have
no effect, silently.
"""

from collections.abc import Iterator, Mapping
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
    """Return the first id of a change that does not fit these facts; None if the change can follow them.

    Logs of earlier versions have two changes that are not reported here, but by `find_conflict`.
    """
    return next(_list_inconsistencies(facts, change), None)


def find_conflict(facts: Snapshot, change: c.Change) -> Inconsistency | None:
    """Return the other inconsistency of a change: an assignment to a deleted subject, or a second resource of one name."""
    match change:
        case c.RoleAssigned(subject):
            return next(_list_unknown(facts, "subject", subject), None)
        case c.ResourceCreated(id, _, parent, name) | c.ResourceRenamed(id, parent, name):
            return next(_list_name_conflicts(facts, id, parent, name), None)
        case _:
            return None


def _list_inconsistencies(s: Snapshot, change: c.Change) -> Iterator[Inconsistency]:
    if isinstance(change, c.OrganizationCreated):
        if s.organization is not None:
            yield Inconsistency(change.organization, "the organization was created by an earlier change")
        return
    if s.organization is None:
        yield Inconsistency("organization", "no earlier change creates the organization (`OrganizationCreated`)")
        return
    field = _INTRODUCED.get(type(change))
    if field is not None and _is_used(s, id := getattr(change, field)):
        yield Inconsistency(id, f"the id `{id}` is in use already, and an id names one thing only")
    for field, kind in _REFERENCES.get(type(change), {}).items():
        yield from _list_unknown(s, kind, getattr(change, field))
    match change:
        case c.RoleRevoked():
            yield from _list_missing_assignments(s, change)
        case c.ResourceRenamed(id, parent) if id in (parent, *(each.id for each in s.ancestors(parent))):
            yield Inconsistency(id, f"`{id}` would be moved below itself")
        case c.ResourceDeleted(s.organization):
            yield Inconsistency(change.resource, "the organization itself cannot be deleted")
        case _:
            pass


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
    c.TokenIssued: {"principal": "principal", "parent": "resource"},
    c.TokenRevoked: {"token": "token"},
    c.ResourceCreated: {"parent": "resource"},
    c.ResourceRenamed: {"resource": "resource", "parent": "resource"},
    c.ResourceDeleted: {"resource": "resource"},
    c.RelationsSet: {"resource": "resource"},
    c.AttributesSet: {"resource": "resource"},
    c.SettingChanged: {"resource": "resource"},
    c.GovernedBy: {"resource": "resource"},
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


def _list_unknown(s: Snapshot, kind: str, id: str | None) -> Iterator[Inconsistency]:
    known = _known(s, kind)
    if id is not None and not any(id in each for each in known):
        yield Inconsistency(id, f"no {kind} has the id `{id}`", frozenset(chain.from_iterable(known)))


def _known(s: Snapshot, kind: str) -> tuple[Mapping[Any, object], ...]:
    known: Mapping[str, tuple[Mapping[Any, object], ...]] = {
        "principal": (s.principals,),
        "group": (s.groups,),
        "subject": (s.principals, s.groups, s.resources),  # a team or domain is a resource
        "token": (s.tokens,),
        "resource": (s.resources,),
        "custom role": (s.custom_roles,),
        "access agreement": (s.agreements,),
        "change request": (s.change_requests,),
        "access request": (s.requests,),
        "run": (s.runs,),
    }
    return known[kind]


def _is_used(s: Snapshot, id: str) -> bool:
    return any(id in known for known in (s.principals, s.groups, s.tokens, s.resources, s.requests))


def _list_missing_assignments(s: Snapshot, change: c.RoleRevoked) -> Iterator[Inconsistency]:
    held = s.assignments.get(change.subject, NOTHING_HELD)
    if (change.role, change.resource, change.reason) in held:
        return
    why = f" for the reason `{change.reason}`" if change.reason else ""
    text = f"`{change.subject}` was not assigned the role `{change.role}` on `{change.resource}`{why}"
    roles = frozenset(role for role, place, _ in held if place == change.resource and role != change.role)
    yield Inconsistency(change.role, text, roles)


def _list_name_conflicts(s: Snapshot, id: c.ResourceId, parent: c.ResourceId, name: str) -> Iterator[Inconsistency]:
    if s.children.get(parent, NO_NAMES).get(name, id) != id:
        yield Inconsistency(name, f"`{parent}` contains another resource with the name `{name}`")
