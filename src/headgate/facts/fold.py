"""The fold: applying changes to a snapshot. There is no other way to a snapshot.

Each change has one small function; it copies only the maps that it touches.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from headgate.facts import changes as c
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Assignment, Group, Held, Resource, Run, Snapshot, Token

K = TypeVar("K")
V = TypeVar("V")


def fold(snapshot: Snapshot, changes: Iterable[c.Change], revision: int) -> Snapshot:
    """Return the snapshot after these changes, at this revision."""
    for change in changes:
        snapshot = apply(snapshot, change)
    return replace(snapshot, revision=revision)


def apply(snapshot: Snapshot, change: c.Change) -> Snapshot:
    """Return the snapshot after one change, at the same revision."""
    return _STEPS[type(change)](snapshot, change)


def _without(mapping: Mapping[K, V], *keys: K) -> dict[K, V]:
    return {key: value for key, value in mapping.items() if key not in keys}


def _outside(assignments: Mapping[SubjectId, Held], gone: set[ResourceId]) -> dict[SubjectId, Held]:
    return {
        subject: {key: value for key, value in held.items() if value.resource not in gone}
        for subject, held in assignments.items()
    }


def _organization_created(s: Snapshot, change: c.OrganizationCreated) -> Snapshot:
    root = Resource(change.organization, "organization", change.organization, change.organization, None, {})
    return replace(
        s,
        organization=root.id,
        model=change.model,
        model_hash=change.model_hash,
        resources={root.id: root},
        children={root.id: {}},
    )


def _principal_added(s: Snapshot, change: c.PrincipalAdded) -> Snapshot:
    groups = dict(s.groups)
    if change.kind == "user":
        for id, group in s.groups.items():
            if group.built_in:
                groups[id] = replace(group, members=group.members | {change.principal})
    return replace(s, principals={**s.principals, change.principal: change.kind}, groups=groups)


def _principal_removed(s: Snapshot, change: c.PrincipalRemoved) -> Snapshot:
    gone = change.principal
    return replace(
        s,
        principals=_without(s.principals, gone),
        groups={id: replace(group, members=group.members - {gone}) for id, group in s.groups.items()},
        assignments=_without(s.assignments, gone),
        tokens={id: token for id, token in s.tokens.items() if token.principal != gone},
        run_as={id: principal for id, principal in s.run_as.items() if principal != gone},
    )


def _group_created(s: Snapshot, change: c.GroupCreated) -> Snapshot:
    users = frozenset(id for id, kind in s.principals.items() if kind == "user")
    group = Group(users if change.built_in else frozenset(), change.built_in)
    return replace(s, groups={**s.groups, change.group: group})


def _member_added(s: Snapshot, change: c.MemberAdded) -> Snapshot:
    group = s.groups[change.group]
    return replace(s, groups={**s.groups, change.group: replace(group, members=group.members | {change.principal})})


def _member_removed(s: Snapshot, change: c.MemberRemoved) -> Snapshot:
    group = s.groups[change.group]
    return replace(s, groups={**s.groups, change.group: replace(group, members=group.members - {change.principal})})


def _token_issued(s: Snapshot, change: c.TokenIssued) -> Snapshot:
    return replace(s, tokens={**s.tokens, change.token: Token(change.principal, change.ends)})


def _token_revoked(s: Snapshot, change: c.TokenRevoked) -> Snapshot:
    return replace(s, tokens=_without(s.tokens, change.token))


def _resource_created(s: Snapshot, change: c.ResourceCreated) -> Snapshot:
    resource = Resource(change.resource, change.type, change.parent, change.name, change.creator, change.relations)
    siblings = {**s.children[change.parent], change.name: change.resource}
    return replace(
        s,
        resources={**s.resources, change.resource: resource},
        children={**s.children, change.parent: siblings, change.resource: {}},
    )


def _resource_renamed(s: Snapshot, change: c.ResourceRenamed) -> Snapshot:
    old = s.resources[change.resource]
    children = {**s.children, old.parent: _without(s.children[old.parent], old.name)}
    children[change.parent] = {**children[change.parent], change.name: change.resource}
    renamed = replace(old, parent=change.parent, name=change.name)
    return replace(s, resources={**s.resources, change.resource: renamed}, children=children)


def _resource_deleted(s: Snapshot, change: c.ResourceDeleted) -> Snapshot:
    old = s.resources[change.resource]
    gone: set[ResourceId] = {change.resource, *s.below(change.resource)}
    children = {id: names for id, names in s.children.items() if id not in gone}
    children[old.parent] = _without(children[old.parent], old.name)
    return replace(
        s,
        resources={id: resource for id, resource in s.resources.items() if id not in gone},
        children=children,
        assignments=_outside(s.assignments, gone),
        run_as={id: principal for id, principal in s.run_as.items() if id not in gone},
    )


def _relations_set(s: Snapshot, change: c.RelationsSet) -> Snapshot:
    changed = replace(s.resources[change.resource], relations=change.relations)
    return replace(s, resources={**s.resources, change.resource: changed})


def _run_as_set(s: Snapshot, change: c.RunAsSet) -> Snapshot:
    return replace(s, run_as={**s.run_as, change.resource: change.principal})


def _role_assigned(s: Snapshot, change: c.RoleAssigned) -> Snapshot:
    assignment = Assignment(change.subject, change.role, change.resource, change.model, change.grantor, change.ends)
    held = {**s.assignments.get(change.subject, {}), (change.role, change.resource): assignment}
    return replace(s, assignments={**s.assignments, change.subject: held})


def _role_revoked(s: Snapshot, change: c.RoleRevoked) -> Snapshot:
    held = _without(s.assignments.get(change.subject, {}), (change.role, change.resource))
    return replace(s, assignments={**s.assignments, change.subject: held})


def _run_started(s: Snapshot, change: c.RunStarted) -> Snapshot:
    return replace(s, runs={**s.runs, change.run: Run(change.pipeline, change.run_as)})


def _run_ended(s: Snapshot, change: c.RunEnded) -> Snapshot:
    return replace(s, runs=_without(s.runs, change.run))


_STEPS: Mapping[type, Callable[[Snapshot, Any], Snapshot]] = {
    c.OrganizationCreated: _organization_created,
    c.PrincipalAdded: _principal_added,
    c.PrincipalRemoved: _principal_removed,
    c.GroupCreated: _group_created,
    c.MemberAdded: _member_added,
    c.MemberRemoved: _member_removed,
    c.TokenIssued: _token_issued,
    c.TokenRevoked: _token_revoked,
    c.ResourceCreated: _resource_created,
    c.ResourceRenamed: _resource_renamed,
    c.ResourceDeleted: _resource_deleted,
    c.RelationsSet: _relations_set,
    c.RunAsSet: _run_as_set,
    c.RoleAssigned: _role_assigned,
    c.RoleRevoked: _role_revoked,
    c.RunStarted: _run_started,
    c.RunEnded: _run_ended,
}
