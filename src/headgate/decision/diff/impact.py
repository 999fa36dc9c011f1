"""Impact of changes: an over-approximation of the principals and resources whose decisions a change can alter."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from headgate.decision.candidates import list_own_subjects, members_of
from headgate.decision.context import Models
from headgate.decision.diff.reach import find_reachable_resources, is_satisfiable
from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import AssignRule, Model, Requirement


@dataclass(frozen=True, slots=True)
class Scope:
    """Some principals on some resources; None is all of them. Without `giving`, what they may assign is unchanged."""

    principals: frozenset[PrincipalId] | None
    resources: frozenset[ResourceId] | None
    giving: bool = True


WHOLE_SCOPE = Scope(None, None)


@dataclass(frozen=True, slots=True)
class _Step:
    """The facts before and after one change."""

    models: Models
    before: Snapshot
    after: Snapshot

    @property
    def sides(self) -> tuple[Snapshot, Snapshot]:
        """Both snapshots."""
        return self.before, self.after

    def find_reachable(
        self, origins: Iterable[ResourceId], roles: Collection[str] | None = None
    ) -> frozenset[ResourceId]:
        """Return the resources whose decisions, before or after, may depend on an assignment of the roles (None: any) on an origin."""
        known = frozenset(origins)
        return frozenset(
            chain.from_iterable(find_reachable_resources(self.models, facts, known, roles) for facts in self.sides)
        )

    def expand_roles(self, names: Iterable[str]) -> frozenset[str]:
        """Return the roles, and those that they contain as custom roles before or after."""
        known = frozenset(names)
        return known.union(*(facts.custom_roles.get(name, ()) for facts in self.sides for name in known))

    def gives(self, names: Iterable[str]) -> bool:
        """Whether the right to assign can depend on an assignment of one of these roles."""
        roles = self.expand_roles(names)
        return any(_gives(model, facts, roles) for model in self.models.values() for facts in self.sides)

    def opens_others(self, role: str, place: ResourceId) -> bool:
        """Whether an assignment of the role there can make others count: as a required membership, or as team membership."""
        found = (facts.resources[place].type for facts in self.sides if place in facts.resources)
        models = self.models.values()
        return any(
            type in model.members or any(type == rule.on and role in rule.roles for rule in model.standing)
            for type in found
            for model in models
        )


def find_scopes(models: Models, before: Snapshot, after: Snapshot, change: c.Change) -> tuple[Scope, ...]:
    """Return scopes outside of which the change alters no decision."""
    return tuple(_SCOPES[type(change)](_Step(models, before, after), change))


def _scope_everything(_: _Step, __: c.Change) -> Iterator[Scope]:
    yield WHOLE_SCOPE


def _scope_nothing(_: _Step, __: c.Change) -> Iterator[Scope]:
    yield from ()


def _person(step: _Step, change: c.PrincipalAdded | c.PrincipalExpires | c.PrincipalRemoved) -> Iterator[Scope]:
    roles = {role for facts in step.sides for role, _ in _list_held(step.models, facts, change.principal)}
    yield Scope(frozenset((change.principal,)), None, step.gives(roles))
    yield from _place(step, ResourceId(change.principal))


def _membership(step: _Step, change: c.MemberAdded | c.MemberRemoved) -> Iterator[Scope]:
    for role, place in {each for facts in step.sides for each in _list_assigned(facts, change.group)}:
        yield from _of_assignment(step, {change.principal}, role, place)


def _assignment(step: _Step, change: c.RoleAssigned | c.RoleRevoked) -> Iterator[Scope]:
    who = {each for facts in step.sides for each in members_of(facts, change.subject)}
    yield from _of_assignment(step, who, change.role, change.resource)


def _resource(step: _Step, change: Any) -> Iterator[Scope]:  # noqa: ANN401 (any change about one resource)
    yield from _place(step, change.resource)


def _attributes(step: _Step, change: c.AttributesSet) -> Iterator[Scope]:
    # The organization's own attributes state whether it is suspended.
    if change.resource == step.after.organization:
        yield WHOLE_SCOPE
    else:
        yield from _place(step, change.resource)


def _access(step: _Step, change: Any) -> Iterator[Scope]:  # noqa: ANN401 (any change about an access)
    yield from _place(step, change.access)
    agreement = step.before.agreements.get(change.access)
    if agreement is not None:
        for subject, keys in step.before.assignments_on.get(agreement.port, {}).items():
            for role, port, reason in keys:
                if reason == change.access:
                    yield from _of_assignment(step, members_of(step.before, subject), role, port)


def _of_assignment(step: _Step, who: Collection[PrincipalId], role: str, place: ResourceId) -> Iterator[Scope]:
    if step.opens_others(role, place):
        yield _of_people(step, who)
        return
    yield Scope(
        frozenset(who), frozenset((place,))
    )  # the existence of an assignment can count by itself (`subject_is_member`)
    yield Scope(frozenset(who), step.find_reachable((place,), step.expand_roles((role,))), step.gives((role,)))


def _of_people(step: _Step, who: Collection[PrincipalId]) -> Scope:
    """Return the scope of these principals on all resources that any of their own, group or team assignments may affect."""
    held = {each for facts in step.sides for principal in who for each in _list_held(step.models, facts, principal)}
    found = (step.find_reachable((place,), step.expand_roles((role,))) for role, place in held)
    return Scope(frozenset(who), frozenset(place for _, place in held).union(*found))


def _list_held(models: Models, facts: Snapshot, principal: PrincipalId) -> set[tuple[str, ResourceId]]:
    """Return every role, with its resource, that the principal, its groups and its teams, at any depth, were assigned."""
    subjects = {each for model in models.values() for each in list_own_subjects(facts, model, principal)}
    return {each for subject in subjects for each in _list_assigned(facts, subject)}


def _list_assigned(facts: Snapshot, subject: SubjectId) -> Iterator[tuple[str, ResourceId]]:
    yield from ((role, place) for role, place, _ in facts.assignments.get(subject, ()))


def _place(step: _Step, id: ResourceId) -> Iterator[Scope]:
    """Yield the scopes of a resource that is created, deleted or changed, with everything below it."""
    inside = {each for facts in step.sides if id in facts.resources for each in (id, *facts.list_below(id))}
    here = step.find_reachable(inside)
    yield Scope(None, here)
    for each in inside | here:
        if any(each in facts.principals for facts in step.sides):
            yield Scope(frozenset((PrincipalId(each),)), None)
    for each in inside:
        if any(each in facts.assignments or GroupId(each) in facts.groups for facts in step.sides):
            yield _of_people(step, {who for facts in step.sides for who in members_of(facts, each)})
    if any(_build_members(facts, each) for facts in step.sides for each in inside):
        yield Scope(None, frozenset(id for facts in step.sides for id in _find_counting_resources(step.models, facts)))


def _gives(model: Model, facts: Snapshot, roles: frozenset[str]) -> bool:
    spread = {
        rule.role
        for rule in model.spread
        if rule.role and rule.roles & roles and is_satisfiable(facts, model, rule.when)
    }
    held = frozenset[str]().union(*(model.roles[each].closure for each in (roles | spread) & model.roles.keys()))
    asked_for = ((*rule.holder, *rule.on_subject, *(each.role for each in rule.needs)) for rule in model.assign)
    return any(not held.isdisjoint(each) for each in asked_for)


def _build_members(facts: Snapshot, id: ResourceId) -> bool:
    return id in facts.principals or (id in facts.resources and facts.resources[id].type == "organization")


def _find_counting_resources(models: Models, facts: Snapshot) -> Iterator[ResourceId]:
    """Yield the resources on which a decision depends on all principals or organizations."""
    types = set[str]()
    for model in models.values():
        types |= {action.partition(".")[0] for action, needs in model.needs.items() if any(map(_counts, needs))}
        types |= {type for rule in model.assign if _counts(rule) for type in rule.on}
    yield from (id for id, resource in facts.resources.items() if resource.type in types)


def _counts(rule: Requirement | AssignRule) -> bool:
    return any(term.name in _COUNTING for term in rule.when)


_COUNTING = frozenset(("free_domain", "keys_left"))
"""The conditions that depend on all principals or organizations; every other depends on its own resource."""

_SCOPES: Mapping[type, Callable[[_Step, Any], Iterator[Scope]]] = {
    c.OrganizationCreated: _scope_everything,
    c.PrincipalAdded: _person,
    c.PrincipalExpires: _person,
    c.PrincipalRemoved: _person,
    c.GroupCreated: lambda step, change: _place(step, change.group),
    c.GroupDeleted: lambda step, change: _place(step, change.group),
    c.MemberAdded: _membership,
    c.MemberRemoved: _membership,
    c.TokenIssued: lambda step, change: _place(step, change.token),
    c.TokenRevoked: lambda step, change: _place(step, change.token),
    c.ResourceCreated: _resource,
    c.ResourceRenamed: _resource,
    c.ResourceDeleted: _resource,
    c.RelationsSet: _resource,
    c.AttributesSet: _attributes,
    c.SettingChanged: _scope_everything,
    c.GovernedBy: _scope_everything,
    c.HomeModelChanged: _scope_everything,
    c.ModelUpgraded: _scope_everything,
    c.ModelInstalled: _scope_nothing,
    c.ModelRemoved: _scope_nothing,
    c.CustomRoleDefined: _scope_everything,
    c.CustomRoleDeleted: _scope_everything,
    c.AccessRequested: _access,
    c.AccessApproved: _access,
    c.AccessEnded: _access,
    c.AccessDeleted: _access,
    c.ChangeRequested: lambda step, change: _place(step, change.request),
    c.ChangeDecided: lambda step, change: _place(step, change.request),
    c.RequestFiled: _scope_nothing,
    c.RequestDecided: _scope_nothing,
    c.RunAsSet: _scope_nothing,
    c.RoleAssigned: _assignment,
    c.RoleRevoked: _assignment,
    c.RunStarted: _scope_nothing,
    c.RunEnded: _scope_nothing,
}
