"""Consistency of a change with the facts before it: what it refers to exists, and the id that it introduces is free.

The control plane writes consistent changes only. A file can be edited by hand, and a change with a misspelt id would have
no effect, silently.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headgate.facts import changes as c
from headgate.facts.snapshot import NOTHING_HELD, Snapshot


class Inconsistency(NamedTuple):
    """The id that does not fit, what is wrong with it, as a clause, and whether the id is unknown (else it is in use)."""

    id: str
    text: str
    is_unknown: bool = True


def find_inconsistency(facts: Snapshot, change: c.Change) -> Inconsistency | None:
    """Return the first id of a change that does not fit these facts; None if the change can follow them."""
    return next(_inconsistencies(facts, change), None)


def _inconsistencies(s: Snapshot, change: c.Change) -> Iterator[Inconsistency]:
    if isinstance(change, c.OrganizationCreated):
        if s.organization is not None:
            yield Inconsistency(
                change.organization, "the organization was created by an earlier change", is_unknown=False
            )
        return
    if s.organization is None:
        yield Inconsistency("organization", "no earlier change creates the organization (`OrganizationCreated`)")
        return
    field = _INTRODUCED.get(type(change))
    if field is not None and _is_used(s, id := getattr(change, field)):
        yield Inconsistency(id, f"the id `{id}` is in use already, and an id names one thing only", is_unknown=False)
    for field, kind in _REFERENCES.get(type(change), {}).items():
        id = getattr(change, field)
        if id is not None and not _exists(s, kind, id):
            yield Inconsistency(id, f"no {kind} has the id `{id}`")
    match change:
        case c.RoleRevoked():
            yield from _unheld(s, change)
        case c.ResourceCreated(_, _, parent, name) | c.ResourceRenamed(_, parent, name):
            yield from _taken(s, change.resource, parent, name)
        case c.ResourceDeleted(s.organization):
            yield Inconsistency(change.resource, "the organization itself cannot be deleted", is_unknown=False)
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
    c.RoleAssigned: {"subject": "subject", "resource": "resource"},
    c.RoleRevoked: {"subject": "subject", "resource": "resource"},
    c.RunEnded: {"run": "run"},
}
"""The fields with an id that must exist, and the kind of the id. Others may name what was deleted: a grantor, an edge's target."""


def _exists(s: Snapshot, kind: str, id: str) -> bool:
    if kind == "subject":
        return any(id in known for known in (s.principals, s.groups, s.resources))
    known = {
        "principal": s.principals,
        "group": s.groups,
        "token": s.tokens,
        "resource": s.resources,
        "custom role": s.custom_roles,
        "access agreement": s.agreements,
        "change request": s.change_requests,
        "access request": s.requests,
        "run": s.runs,
    }
    return id in known[kind]


def _is_used(s: Snapshot, id: str) -> bool:
    return any(id in known for known in (s.principals, s.groups, s.tokens, s.resources, s.requests))


def _unheld(s: Snapshot, change: c.RoleRevoked) -> Iterator[Inconsistency]:
    held = s.assignments.get(change.subject, NOTHING_HELD)
    if (change.role, change.resource, change.reason) in held:
        return
    why = f" for the reason `{change.reason}`" if change.reason else ""
    yield Inconsistency(
        change.role, f"`{change.subject}` was not assigned the role `{change.role}` on `{change.resource}`{why}"
    )


def _taken(s: Snapshot, id: c.ResourceId, parent: c.ResourceId, name: str) -> Iterator[Inconsistency]:
    if s.children[parent].get(name, id) != id:
        yield Inconsistency(name, f"`{parent}` contains another resource with the name `{name}`", is_unknown=False)
    if id in (parent, *(each.id for each in s.ancestors(parent))):
        yield Inconsistency(id, f"`{id}` would be moved below itself", is_unknown=False)
