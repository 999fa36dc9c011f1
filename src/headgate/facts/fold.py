"""The fold: applies changes to a snapshot. A snapshot is created only by the fold, or loaded from a checkpoint.

Each type of change has one small function. A change that refers to something that does not exist raises `KeyError`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from headgate.facts import changes as c
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.index_updates import (
    add_assignments,
    add_members,
    add_resource,
    add_token,
    assignments_of_agreement,
    delete_entity,
    remove_assignments,
    remove_members,
    runs_as,
    set_relations,
)
from headgate.facts.snapshot import (
    NO_NAMES,
    NO_SETTINGS,
    AccessRequest,
    Agreement,
    Assignment,
    ChangeRequest,
    Group,
    InstalledModel,
    Principal,
    Resource,
    Run,
    Snapshot,
    Token,
)

BUILT_IN = "built_in"
"""The attribute, with the value `true`, of a group that the system maintains."""


def fold(snapshot: Snapshot, changes: Iterable[c.Change], revision: int) -> Snapshot:
    """Return the snapshot after these changes, at this revision."""
    for change in changes:
        snapshot = apply(snapshot, change)
    return snapshot._replace(revision=revision)


def apply(snapshot: Snapshot, change: c.Change) -> Snapshot:
    """Return the snapshot after one change, at the same revision."""
    return _STEPS[type(change)](snapshot, change)


def _root(s: Snapshot) -> ResourceId:
    if s.organization is None:
        raise KeyError("organization")
    return s.organization


def _organization_created(s: Snapshot, change: c.OrganizationCreated) -> Snapshot:
    root = Resource(change.organization, change.type, change.organization, change.organization, None, {})
    return s._replace(
        organization=root.id,
        model=change.model,
        model_hashes=s.model_hashes.set(change.model, change.model_hash),
        resources=s.resources.set(root.id, root),
        children=s.children.set(root.id, NO_NAMES),
    )


def _principal_added(s: Snapshot, change: c.PrincipalAdded) -> Snapshot:
    id = change.principal
    s = s._replace(principals=s.principals.set(id, Principal(change.kind, None, change.attributes)))
    if change.kind == "service_principal":
        place = ResourceId(id)
        return add_resource(s, Resource(place, change.kind, _root(s), id, None, {}, change.attributes))
    for group, found in s.groups.items():
        if found.built_in:
            s = add_members(s, group, (id,))
    return s


def _principal_expires(s: Snapshot, change: c.PrincipalExpires) -> Snapshot:
    expiring = replace(s.principals[change.principal], ends=change.ends)
    return s._replace(principals=s.principals.set(change.principal, expiring))


def _principal_removed(s: Snapshot, change: c.PrincipalRemoved) -> Snapshot:
    return delete_entity(s, change.principal)


def _group_created(s: Snapshot, change: c.GroupCreated) -> Snapshot:
    attributes = {**change.attributes, BUILT_IN: ("true",)} if change.built_in else change.attributes
    s = add_resource(s, Resource(ResourceId(change.group), "group", _root(s), change.group, None, {}, attributes))
    s = s._replace(groups=s.groups.set(change.group, Group(frozenset(), change.built_in)))
    users = [id for id, principal in s.principals.items() if principal.kind == "user"] if change.built_in else ()
    return add_members(s, change.group, users)


def _group_deleted(s: Snapshot, change: c.GroupDeleted) -> Snapshot:
    return delete_entity(s, change.group)


def _member_added(s: Snapshot, change: c.MemberAdded) -> Snapshot:
    return add_members(s, change.group, (change.principal,))


def _member_removed(s: Snapshot, change: c.MemberRemoved) -> Snapshot:
    return remove_members(s, change.group, (change.principal,))


def _token_issued(s: Snapshot, change: c.TokenIssued) -> Snapshot:
    s = add_token(s, change.token, Token(change.principal, change.ends, change.only, change.actions, change.acts_in))
    if change.parent is None:
        return s
    return add_resource(s, Resource(ResourceId(change.token), "token", change.parent, change.token, None, {}))


def _token_revoked(s: Snapshot, change: c.TokenRevoked) -> Snapshot:
    return delete_entity(s, change.token)


def _resource_created(s: Snapshot, change: c.ResourceCreated) -> Snapshot:
    resource = Resource(
        change.resource,
        change.type,
        change.parent,
        change.name,
        change.creator,
        change.relations,
        change.attributes,
    )
    return add_resource(s, resource)


def _resource_renamed(s: Snapshot, change: c.ResourceRenamed) -> Snapshot:
    old = s.resources[change.resource]
    children = s.children.set(old.parent, s.children[old.parent].delete(old.name))
    children = children.set(change.parent, children[change.parent].set(change.name, old.id))
    renamed = replace(old, parent=change.parent, name=change.name)
    return s._replace(resources=s.resources.set(old.id, renamed), children=children)


def _resource_deleted(s: Snapshot, change: c.ResourceDeleted) -> Snapshot:
    return delete_entity(s, change.resource)


def _relations_set(s: Snapshot, change: c.RelationsSet) -> Snapshot:
    return set_relations(s, change.resource, change.relations)


def _attributes_set(s: Snapshot, change: c.AttributesSet) -> Snapshot:
    changed = replace(s.resources[change.resource], attributes=change.attributes)
    s = s._replace(resources=s.resources.set(change.resource, changed))
    principal = s.principals.get(PrincipalId(change.resource))
    if principal is None:
        return s
    same = replace(principal, attributes=change.attributes)
    return s._replace(principals=s.principals.set(PrincipalId(change.resource), same))


def _setting_changed(s: Snapshot, change: c.SettingChanged) -> Snapshot:
    here = s.settings.get(change.resource, NO_SETTINGS).set(change.setting, change.value)
    return s._replace(settings=s.settings.set(change.resource, here))


def _governed_by(s: Snapshot, change: c.GovernedBy) -> Snapshot:
    hashes = s.model_hashes.set(change.model, change.model_hash)
    return s._replace(governs=s.governs.set(change.resource, change.model), model_hashes=hashes)


def _home_model_changed(s: Snapshot, change: c.HomeModelChanged) -> Snapshot:
    return s._replace(model=change.model, model_hashes=s.model_hashes.set(change.model, change.model_hash))


def _model_upgraded(s: Snapshot, change: c.ModelUpgraded) -> Snapshot:
    return s._replace(model_hashes=s.model_hashes.set(change.model, change.model_hash))


def _model_installed(s: Snapshot, change: c.ModelInstalled) -> Snapshot:
    known = s.installed_models.get(change.model)
    numbers = {} if known is None else dict(zip(known.versions, known.numbers, strict=True))
    earlier = {hash: number for hash, number in numbers.items() if hash != change.model_hash}
    versions = {**earlier, change.model_hash: change.version}
    installed = InstalledModel(tuple(versions), tuple(versions.values()), change.shipped)
    return s._replace(installed_models=s.installed_models.set(change.model, installed))


def _model_removed(s: Snapshot, change: c.ModelRemoved) -> Snapshot:
    removed = replace(s.installed_models[change.model], is_removed=True)
    return s._replace(installed_models=s.installed_models.set(change.model, removed))


def _custom_role_defined(s: Snapshot, change: c.CustomRoleDefined) -> Snapshot:
    return s._replace(custom_roles=s.custom_roles.set(change.name, frozenset(change.roles)))


def _custom_role_deleted(s: Snapshot, change: c.CustomRoleDeleted) -> Snapshot:
    return s._replace(custom_roles=s.custom_roles.delete(change.name))


def _access_requested(s: Snapshot, change: c.AccessRequested) -> Snapshot:
    relations = {"port": (c.Edge(change.port),), "consumer": (c.Edge(ResourceId(change.consumer)),)}
    s = add_resource(s, Resource(change.access, "access", _root(s), change.access, change.author, relations))
    agreement = Agreement(change.port, change.consumer, change.author, "requested")
    return s._replace(agreements=s.agreements.set(change.access, agreement))


def _access_approved(s: Snapshot, change: c.AccessApproved) -> Snapshot:
    agreement = replace(s.agreements[change.access], state="approved", starts=change.starts, ends=change.ends)
    return s._replace(agreements=s.agreements.set(change.access, agreement))


def _access_ended(s: Snapshot, change: c.AccessEnded) -> Snapshot:
    agreement = replace(s.agreements[change.access], state=change.state)
    s = s._replace(agreements=s.agreements.set(change.access, agreement))
    return remove_assignments(s, assignments_of_agreement(s, change.access)) if change.state == "terminated" else s


def _access_deleted(s: Snapshot, change: c.AccessDeleted) -> Snapshot:
    return delete_entity(s, change.access)


def _change_requested(s: Snapshot, change: c.ChangeRequested) -> Snapshot:
    relations = {"of": (c.Edge(change.resource),)}
    s = add_resource(s, Resource(change.request, "change_request", _root(s), change.request, change.author, relations))
    request = ChangeRequest(change.resource, change.author, "requested")
    return s._replace(change_requests=s.change_requests.set(change.request, request))


def _change_decided(s: Snapshot, change: c.ChangeDecided) -> Snapshot:
    request = replace(s.change_requests[change.request], state=change.state)
    return s._replace(change_requests=s.change_requests.set(change.request, request))


def _request_filed(s: Snapshot, change: c.RequestFiled) -> Snapshot:
    request = AccessRequest(change.author, change.action, change.resource, "requested")
    return s._replace(requests=s.requests.set(change.request, request))


def _request_decided(s: Snapshot, change: c.RequestDecided) -> Snapshot:
    request = replace(s.requests[change.request], state=change.state)
    return s._replace(requests=s.requests.set(change.request, request))


def _run_as_set(s: Snapshot, change: c.RunAsSet) -> Snapshot:
    return runs_as(s, change.resource, change.principal)


def _role_assigned(s: Snapshot, change: c.RoleAssigned) -> Snapshot:
    assignment = Assignment(
        change.subject,
        change.role,
        change.resource,
        change.model,
        change.grantor,
        change.ends,
        change.starts,
        change.reason,
    )
    return add_assignments(s, assignment)


def _role_revoked(s: Snapshot, change: c.RoleRevoked) -> Snapshot:
    return remove_assignments(s, ((change.subject, (change.role, change.resource, change.reason)),))


def _run_started(s: Snapshot, change: c.RunStarted) -> Snapshot:
    return s._replace(runs=s.runs.set(change.run, Run(change.pipeline, change.run_as)))


def _run_ended(s: Snapshot, change: c.RunEnded) -> Snapshot:
    return s._replace(runs=s.runs.delete(change.run))


_STEPS: Mapping[type, Callable[[Snapshot, Any], Snapshot]] = {
    c.OrganizationCreated: _organization_created,
    c.PrincipalAdded: _principal_added,
    c.PrincipalExpires: _principal_expires,
    c.PrincipalRemoved: _principal_removed,
    c.GroupCreated: _group_created,
    c.GroupDeleted: _group_deleted,
    c.MemberAdded: _member_added,
    c.MemberRemoved: _member_removed,
    c.TokenIssued: _token_issued,
    c.TokenRevoked: _token_revoked,
    c.ResourceCreated: _resource_created,
    c.ResourceRenamed: _resource_renamed,
    c.ResourceDeleted: _resource_deleted,
    c.RelationsSet: _relations_set,
    c.AttributesSet: _attributes_set,
    c.SettingChanged: _setting_changed,
    c.GovernedBy: _governed_by,
    c.HomeModelChanged: _home_model_changed,
    c.ModelUpgraded: _model_upgraded,
    c.ModelInstalled: _model_installed,
    c.ModelRemoved: _model_removed,
    c.CustomRoleDefined: _custom_role_defined,
    c.CustomRoleDeleted: _custom_role_deleted,
    c.AccessRequested: _access_requested,
    c.AccessApproved: _access_approved,
    c.AccessEnded: _access_ended,
    c.AccessDeleted: _access_deleted,
    c.ChangeRequested: _change_requested,
    c.ChangeDecided: _change_decided,
    c.RequestFiled: _request_filed,
    c.RequestDecided: _request_decided,
    c.RunAsSet: _run_as_set,
    c.RoleAssigned: _role_assigned,
    c.RoleRevoked: _role_revoked,
    c.RunStarted: _run_started,
    c.RunEnded: _run_ended,
}
