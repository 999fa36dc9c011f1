"""What a decision means, readable in ten minutes.

1. The caller has to be somebody: a principal of the organization; a token or run of it that has not ended.
2. A run may touch what its pipeline declares, and nothing else.
3. A principal holds a role on a resource by an assignment there, to itself or to a group it is in; by an
   assignment elsewhere that the model spreads here; or, for a derived type, by holding it on everything
   that the resource touches: the weakest decides, and nothing touched is not "allowed".
4. An action is allowed if a role that is held gives it, and every resource that the action also concerns
   carries the role that the model requires there.
5. Adding or removing an assignment is allowed to whoever holds a role that the model lets assign that role
   there, for a subject that is eligible.

Nothing else allows. No cache, no clock, no options.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from headgate.decision.declared import declared
from headgate.decision.records import Decision, Missing, Path, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Assignment, Resource, Snapshot
from headgate.model.model import Derived, Model, Spread

ASSIGNING = frozenset(("assignment.add", "assignment.remove"))
"""The actions that the model's assign rules decide."""


def decide(model: Model, facts: Snapshot, question: Question, now: float) -> Decision:
    """Answer a question on a snapshot at a time (seconds since the epoch)."""
    answer = _answer(model, facts, question, now)
    version = f"{model.name} {model.version}"
    if isinstance(answer, Missing):
        return Decision(allowed=False, revision=facts.revision, model=version, missing=answer)
    return Decision(allowed=True, revision=facts.revision, model=version, paths=answer)


def discoverable(model: Model, facts: Snapshot, caller: Caller, resource: ResourceId, now: float) -> bool:
    """Say whether any action on the resource is allowed to the caller."""
    found = facts.resources.get(resource)
    if found is None or not_standing(facts, caller, now):
        return False
    roles = {path.role for path in held(model, facts, caller.principal, found, now)}
    actions = {action for role in roles for action in model.roles[role].actions if _is_on(action, found.type)}
    return any(caller.run is None or declared(facts, caller.run, action, found) for action in actions)


def held(model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, now: float) -> Sequence[Path]:
    """Return every role that the principal holds on the resource, included roles too, with the way it came."""
    if not _eligible(model, facts, principal, now):
        return ()
    paths = [*_assigned(model, facts, principal, resource, now), *_derived(model, facts, principal, resource, now)]
    reached = [replace(path, role=role) for path in paths for role in sorted(model.roles[path.role].closure)]
    return list(dict.fromkeys(reached))


def _answer(model: Model, facts: Snapshot, question: Question, now: float) -> tuple[Path, ...] | Missing:
    nobody = not_standing(facts, question.caller, now)
    if nobody:
        return nobody
    principal = question.caller.principal
    resource = facts.resources.get(question.resource)
    if resource is None:
        return Missing("no-resource", question.resource)
    run = question.caller.run
    if run is not None and not declared(facts, run, question.action, resource):
        return Missing("not-declared", resource.id)
    if question.action in ASSIGNING:
        return _assigning(model, facts, principal, resource, question, now)
    return _acting(model, facts, principal, resource, question, now)


def not_standing(facts: Snapshot, caller: Caller, now: float) -> Missing | None:
    """Return why the caller is nobody here (any more), or None."""
    if caller.principal not in facts.principals:
        return Missing("no-principal")
    if caller.token is not None:
        token = facts.tokens.get(caller.token)
        if token is None or token.principal != caller.principal or _over(token.ends, now):
            return Missing("no-token")
    if caller.run is not None:
        run = facts.runs.get(caller.run)
        if run is None or run.run_as != caller.principal:
            return Missing("no-run")
    return None


def _acting(
    model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, question: Question, now: float
) -> tuple[Path, ...] | Missing:
    roles = model.giving(question.action)
    if not _is_on(question.action, resource.type) or not (roles or question.action in model.requires):
        return Missing("unknown-action", resource.id)
    paths = _having(model, facts, principal, resource, roles, now)
    if roles and not paths:
        return Missing("no-role", resource.id, roles)
    required = _required(model, facts, principal, question, now)
    return required if isinstance(required, Missing) else (*paths, *required)


def _having(
    model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, roles: Sequence[str], now: float
) -> tuple[Path, ...]:
    return tuple(path for path in held(model, facts, principal, resource, now) if path.role in roles)


def _required(
    model: Model, facts: Snapshot, principal: PrincipalId, question: Question, now: float
) -> tuple[Path, ...] | Missing:
    found: list[Path] = []
    for requirement in model.requires.get(question.action, ()):
        touched = question.on.get(requirement.parameter, ())
        if not touched and not requirement.optional:
            return Missing("no-resource")
        for id in touched:
            resource = facts.resources.get(id)
            paths = _having(model, facts, principal, resource, (requirement.role,), now) if resource else ()
            if not paths:
                return Missing("no-role", id, (requirement.role,))
            found.extend(paths)
    return tuple(found)


def _assigning(
    model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, question: Question, now: float
) -> tuple[Path, ...] | Missing:
    role = model.roles.get(question.role or "")
    if role is None or resource.type not in role.on:
        return Missing("not-assignable", resource.id)
    if question.action == "assignment.add" and not _can_be_assigned(model, facts, question, role.name, now):
        return Missing("no-subject", resource.id)
    holders = [rule.holder for rule in model.assign if role.name in rule.roles and resource.type in rule.on]
    return _having(model, facts, principal, resource, holders, now) or Missing("not-grantor", resource.id, (*holders,))


def _can_be_assigned(model: Model, facts: Snapshot, question: Question, role: str, now: float) -> bool:
    subject = question.subject
    if subject in facts.groups:
        return role not in model.eligible.roles
    if subject is None or PrincipalId(subject) not in facts.principals:
        return False
    return role in model.eligible.roles or _eligible(model, facts, PrincipalId(subject), now)


def _eligible(model: Model, facts: Snapshot, principal: PrincipalId, now: float) -> bool:
    return any(
        assignment.role in model.eligible.roles and facts.resources[assignment.resource].type == model.eligible.on
        for assignment in _assignments(model, facts, principal, now)
    )


def _assignments(model: Model, facts: Snapshot, principal: PrincipalId, now: float) -> Iterator[Assignment]:
    subjects: list[SubjectId] = [principal, *facts.groups_of(principal)]
    for subject in subjects:
        for assignment in facts.assignments.get(subject, {}).values():
            if assignment.model == model.name and not _over(assignment.ends, now) and _fits(model, facts, assignment):
                yield assignment


def _fits(model: Model, facts: Snapshot, assignment: Assignment) -> bool:
    """Say whether the model knows the role and lets it be assigned on such a resource; else it gives nothing."""
    role, resource = model.roles.get(assignment.role), facts.resources.get(assignment.resource)
    return role is not None and resource is not None and resource.type in role.on


def _assigned(model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, now: float) -> Iterator[Path]:
    above = {each.id for each in facts.ancestors(resource.id)}
    for given in _assignments(model, facts, principal, now):
        if given.resource == resource.id:
            yield Path(given.role, given.subject, given.role, given.resource)
        for rule in model.spread:
            if given.role in rule.roles and _reaches(facts, rule, facts.resources[given.resource], resource, above):
                yield Path(rule.role or given.role, given.subject, given.role, given.resource)


def _reaches(facts: Snapshot, rule: Spread, origin: Resource, target: Resource, above: set[ResourceId]) -> bool:
    if origin.type not in rule.origin:
        return False
    if rule.to == "below":
        return origin.id in above
    nearest = next((each.id for each in facts.ancestors(origin.id) if each.type == rule.to), None)
    return nearest == target.id


def _derived(model: Model, facts: Snapshot, principal: PrincipalId, resource: Resource, now: float) -> Iterator[Path]:
    rule = model.derived.get(resource.type)
    if rule is None:
        return
    ways = [(id, _held_there(model, facts, principal, id, now)) for id in touched(resource, rule)]
    if not ways:
        return
    common = set[str].intersection(*({path.role for path in paths} for _, paths in ways))
    weakest, paths = min(ways, key=lambda way: len({path.role for path in way[1]}))
    for path in paths:
        if path.role in common:
            yield Path(path.role, path.subject, path.assigned_role, path.assigned_on, weakest)


def _held_there(model: Model, facts: Snapshot, principal: PrincipalId, id: ResourceId, now: float) -> Sequence[Path]:
    resource = facts.resources.get(id)
    if resource is None or resource.type in model.derived:  # what is derived rests on what is assigned, in one step
        return ()
    return held(model, facts, principal, resource, now)


def touched(resource: Resource, rule: Derived) -> list[ResourceId]:
    """Return what decides on a derived type: what the enabled edges name, or, for none, where it would write.

    What is gone stays named, so that a drop never opens a pipeline.
    """
    enabled = {edge.target for relation in rule.weakest_over for edge in resource.edges(relation)}
    written = {edge.target for relation in rule.when_empty for edge in resource.relations.get(relation, ())}
    return sorted(enabled or written)


def _is_on(action: str, type: str) -> bool:
    return action.partition(".")[0] == type


def _over(ends: float | None, now: float) -> bool:
    return ends is not None and ends <= now
