"""The normative definition of a decision, readable in ten minutes.

1. The caller must be valid: a principal of the organization that has not expired; its token, if any, must not have
   expired, and its run not have finished. In a suspended organization nothing is allowed to any caller.
2. The model that governs the resource decides: its project's, else the home model, else the ownership tree's.
3. An assignment counts while its dates, its role's conditions and the model's membership rules (`standing`) hold. A
   role is held on a resource by an assignment on it, to the principal or to a group or team it is in; by one that the
   model spreads to it; by a relation that names the principal; or, for a derived type, by holding it on everything
   that the resource touches: the weakest decides, and a resource that touches nothing gives no role.
4. An action is allowed if a role that gives it is held (where any role gives it) and one of the alternatives that the
   model requires for it is met (where it states any), on all resources that the alternative names.
5. Adding, removing or changing an assignment is allowed by an assign rule for that role, resource and subject.
6. A run may touch only what its pipeline declares. A narrowed token allows only what a caller could do that held every
   role on the resources that the token lists, and no other role. For an action of the model's `acting`, a token that acts
   in a team counts only the assignments of that team.
7. An active agreement also gives the actions of its bridge on what its port serves.

Nothing else allows an action. The decision uses no cache, no clock and no options.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.conditions import holds
from headgate.decision.context import EvaluationContext, Models
from headgate.decision.effective_assignments import (
    effective_assignments,
    expand_assignment,
    find_acting_team,
    meets_membership,
)
from headgate.decision.run_scope import is_declared
from headgate.decision.tree import derived_inputs, has_same_nearest, requirement_places, rule_applies, subject_kind
from headgate.decision.types import Decision, DenyReason, GrantPath, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.describe import describe_condition
from headgate.model.model import AssignRule, Model, Requirement

ASSIGNING = {"assignment.add": "add", "assignment.remove": "remove", "assignment.change": "change"}
"""The actions that the model's assign rules decide, with the verbs of these rules."""

Answer = tuple[GrantPath, ...] | DenyReason


def decide(models: Models, facts: Snapshot, question: Question, now: float) -> Decision:
    """Decide a question on a snapshot at a time (seconds since the epoch)."""
    answer = caller_invalid(facts, question.caller, now) or _answer(EvaluationContext(models, facts, question, now))
    home = models.get(facts.model)
    missing = answer if isinstance(answer, DenyReason) else None
    paths = () if isinstance(answer, DenyReason) else tuple(dict.fromkeys(answer))
    return Decision(
        missing is None, facts.revision, f"{home.name} {home.version}" if home else "", question, paths, missing
    )


def is_discoverable(models: Models, facts: Snapshot, caller: Caller, resource: ResourceId, now: float) -> bool:
    """Whether the caller may know that the resource exists: by the model's `discover` action, or else by any action."""
    found = facts.resources.get(resource)
    model = EvaluationContext(models, facts, Question(caller, "", resource), now).model(found) if found else None
    if found is None or model is None:
        return False
    actions = (f"{found.type}.{model.discover}",) if model.discover else model.actions_on(found.type)
    return any(decide(models, facts, Question(caller, action, resource), now).allowed for action in actions)


def _answer(asked: EvaluationContext) -> Answer:
    facts, question = asked.facts, asked.question
    resource = facts.resources.get(question.resource)
    if resource is None:
        return DenyReason("no-resource", question.resource)
    if question.caller.run is not None and not is_declared(facts, question.caller.run, question.action, resource):
        return DenyReason("not-declared", resource.id)
    token = facts.tokens[question.caller.token] if question.caller.token else None
    if token and token.actions is not None and question.action not in token.actions:
        return DenyReason("narrowed", resource.id)
    answer = _on(asked, resource)
    if token and token.only is not None and not isinstance(answer, DenyReason):
        narrowed = replace(asked, listed=token.only)
        if isinstance(_on(narrowed, resource), DenyReason) or not find_paths(narrowed, resource):
            return DenyReason("narrowed", resource.id)
    return answer


def _on(asked: EvaluationContext, resource: Resource) -> Answer:
    model = asked.model(resource)
    if model is None:
        return DenyReason("unknown-action", resource.id)
    if asked.question.action in ASSIGNING:
        return _answer_assigning(asked, model, resource)
    answer, bridged = _answer_acting(asked, model, resource), _find_bridged(asked, resource)
    return (bridged or answer) if isinstance(answer, DenyReason) else (*answer, *bridged)


def _answer_acting(asked: EvaluationContext, model: Model, resource: Resource) -> Answer:
    action = asked.question.action
    giving, alternatives = model.roles_granting(action), model.needs.get(action)
    if action.partition(".")[0] != resource.type or not (giving or alternatives):
        return DenyReason("unknown-action", resource.id)
    paths = tuple(path for path in find_paths(asked, resource) if path.role in giving)
    if giving and not paths:
        return DenyReason("no-role", resource.id, giving)
    if alternatives is None:
        return paths
    answers = [_alternative(asked, model, resource, each) for each in alternatives]
    allowed = [each for each in answers if not isinstance(each, DenyReason)]
    if allowed:
        return (*paths, *chain.from_iterable(allowed))
    return next((each for each in answers if isinstance(each, DenyReason) and each.code == "no-role"), answers[0])


def _alternative(asked: EvaluationContext, model: Model, resource: Resource, alternative: Requirement) -> Answer:
    case = asked.condition_input(model, resource)
    for term in alternative.when:
        if not holds((term,), case):
            return DenyReason("condition", resource.id, what=describe_condition(term).replace("`", ""))
    found: list[GrantPath] = []
    words = asked.question.given.get(alternative.each, ()) if alternative.each else ()
    if alternative.each and not words:
        return DenyReason("condition", resource.id, what=f"with.{alternative.each} is given")
    held = find_paths(asked, resource) if words else ()
    for giving in (model.roles_granting(f"{resource.type}.{word}") for word in dict.fromkeys(words)):
        paths = [path for path in held if path.role in giving]
        if not paths:
            return DenyReason("no-role", resource.id, giving)
        found.extend(paths)
    for needed in alternative.roles:
        places = requirement_places(asked.facts, asked.question, resource, needed)
        if not places and not needed.optional:
            return DenyReason("no-role", None, (needed.role,))
        for id in places:
            place = asked.facts.resources.get(id)
            ours = place is not None and asked.model(place) is model
            paths = [path for path in find_paths(asked, place) if path.role == needed.role] if place and ours else []
            if not paths:
                return DenyReason("no-role", id, (needed.role,))
            found.extend(paths)
    return tuple(found)


def _find_bridged(asked: EvaluationContext, resource: Resource) -> tuple[GrantPath, ...]:
    ports = (asked.facts.resources[id] for id in asked.facts.referrers.get(resource.id, ()))
    return tuple(
        path
        for port in ports
        if (model := asked.model(port)) is not None
        for bridge in model.bridges
        if asked.question.action in bridge.actions
        if any(edge.target == resource.id for edge in port.edges(bridge.relation))
        for path in find_paths(asked, port)
        if path.role == bridge.role
    )


def find_paths(asked: EvaluationContext, resource: Resource) -> Sequence[GrantPath]:
    """Return every role that the caller holds on the resource, included roles too, with the path that gives it."""
    model = asked.model(resource)
    if model is None:
        return ()
    paths = [*_assigned(asked, model, resource), *_named(asked, model, resource), *_derived(asked, model, resource)]
    reached = [replace(path, role=role) for path in paths for role in sorted(model.roles[path.role].closure)]
    return list(dict.fromkeys(reached))


def _assigned(asked: EvaluationContext, model: Model, resource: Resource) -> Iterator[GrantPath]:
    facts = asked.facts
    for given in effective_assignments(asked, model):
        origin = facts.resources[given.resource]
        for role in {given.role} if asked.listed is not None else expand_assignment(asked, model, given, origin):
            as_given = GrantPath(role, given.subject, given.role, given.resource, None, given.reason)
            if origin.id == resource.id:
                yield as_given
            for rule in model.spread:
                there = role in rule.roles and origin.type in rule.origin
                there = there and rule_applies(facts, model, rule, origin, resource)
                there = there and holds(rule.when_from, asked.condition_input(model, origin))
                if there and holds(rule.when, asked.condition_input(model, resource)):
                    yield replace(as_given, role=rule.role or role)


def _named(asked: EvaluationContext, model: Model, resource: Resource) -> Iterator[GrantPath]:
    principal = asked.question.caller.principal
    for rule in model.named_in if find_acting_team(asked, model) is None else ():
        targets = {edge.target for edge in resource.edges(rule.relation)}
        named = {resource.creator} if rule.relation == "created_by" else targets
        if resource.type in rule.to and principal in named:
            yield GrantPath(rule.role, principal, rule.role, resource.id)


def _derived(asked: EvaluationContext, model: Model, resource: Resource) -> Iterator[GrantPath]:
    rule = model.derived.get(resource.type)
    ways = [(id, _find_held_there(asked, model, id)) for id in derived_inputs(resource, rule)] if rule else []
    if not ways:
        return
    common = set[str].intersection(*({path.role for path in paths} for _, paths in ways))
    fewest = min(len({path.role for path in paths}) for _, paths in ways)
    for id, paths in ways:
        if len({path.role for path in paths}) == fewest:
            yield from (replace(path, weakest=id) for path in paths if path.role in common)


def _find_held_there(asked: EvaluationContext, model: Model, id: ResourceId) -> Sequence[GrantPath]:
    resource = asked.facts.resources.get(id)
    # Derived roles depend directly on assigned ones, not on derived ones, and not on resources of another model.
    return (
        find_paths(asked, resource)
        if resource and resource.type not in model.derived and asked.model(resource) is model
        else ()
    )


def _answer_assigning(asked: EvaluationContext, model: Model, resource: Resource) -> Answer:
    question, verb = asked.question, ASSIGNING[asked.question.action]
    if verb != "change":
        return _may_assign(asked, model, resource, verb, question.role or "")
    changed = _may_assign(asked, model, resource, "change", question.new_role or "")
    if not isinstance(changed, DenyReason) or question.role is None:
        return changed
    taken = _may_assign(asked, model, resource, "remove", question.role)
    return (
        taken if isinstance(taken, DenyReason) else _may_assign(asked, model, resource, "add", question.new_role or "")
    )


def _may_assign(asked: EvaluationContext, model: Model, resource: Resource, verb: str, name: str) -> Answer:
    subject, custom = asked.question.subject, model.custom_roles
    # Without a subject, the question is about a user who is to join and is not known yet.
    kind = subject_kind(asked.facts, subject) if subject else "user"
    case = asked.condition_input(model, resource)
    is_removal = verb == "remove"  # an assignment can be revoked, whatever conditions hold now
    may_define = custom and resource.type in custom.on and holds(custom.when, case)
    is_custom = custom and name in asked.facts.custom_roles and resource.type in custom.on and kind in custom.to
    role = model.roles.get(name)
    is_active = role and holds(role.when, case) and not (may_define and custom and name in custom.replaces)
    is_own = role and resource.type in role.on and kind in role.to and (is_removal or is_active)
    if not is_own and not (is_custom and (is_removal or may_define)):
        return DenyReason("not-assignable", resource.id)
    person = subject or PrincipalId("")
    standing = () if is_removal else model.standing
    if not all(meets_membership(asked, model, each, person, kind, name, resource.id) for each in standing):
        return DenyReason("no-subject", resource.id)
    rules = [
        rule
        for rule in model.assign
        if verb in rule.verbs and resource.type in rule.on and kind in rule.to
        if (is_own and name in rule.roles) or (is_custom and rule.custom)
    ]
    held = find_paths(asked, resource) if rules else ()
    found = (_by_rule(asked, model, resource, rule, held) for rule in rules if holds(rule.when, case))
    holders = tuple(dict.fromkeys(holder for rule in rules for holder in rule.holder))
    return tuple(chain.from_iterable(found)) or DenyReason("not-grantor", resource.id, holders)


def _by_rule(
    asked: EvaluationContext, model: Model, resource: Resource, rule: AssignRule, held: Sequence[GrantPath]
) -> tuple[GrantPath, ...]:
    """Return the paths that satisfy the rule, of its holder roles (among `held`), subject roles and `needs`; empty if one is missing."""
    on_resource = [way for way in held if way.role in rule.holder]
    subject = asked.facts.resources.get(ResourceId(asked.question.subject or ""))
    ours = subject is not None and asked.model(subject) is model
    if rule.same and not has_same_nearest(asked.facts, resource, subject, rule.same):
        return ()
    on_subject = [way for way in find_paths(asked, subject) if way.role in rule.on_subject] if subject and ours else []
    besides = _alternative(asked, model, resource, Requirement((), rule.needs))
    if isinstance(besides, DenyReason) or (rule.holder and not on_resource) or (rule.on_subject and not on_subject):
        return ()
    return (*on_resource, *on_subject, *besides)
