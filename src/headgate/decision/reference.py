"""What a decision means, readable in ten minutes.

1. The caller has to be somebody: a principal of the organization that has not expired; a token or run of it that
   has not ended. In an organization that is suspended nothing is allowed to any caller.
2. The model that governs the resource decides: its project's, else the home model, else the ownership tree's.
3. An assignment counts while its dates, its role's conditions and the model's standing rules hold. A role is held
   on a resource by an assignment there, to the principal or a group it is in; by one that the model spreads here;
   by a relation that names the principal; or, for a derived type, by holding it on everything that the resource
   touches: the weakest decides, and nothing touched is not "allowed".
4. An action is allowed if a role that is held gives it (where any role does) and one of the alternatives that the
   model needs for it holds (where it states any), on whatever resources those name.
5. Adding, removing or changing an assignment is allowed by a rule of the model for that role, place and subject.
6. A run may touch what its pipeline declares, and nothing else. A narrowed token may only do what somebody could
   who held everything on the resources that it lists, and nothing else.
7. An active agreement also gives what its bridge says on what the port serves.

Nothing else allows. No cache, no clock, no options.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from headgate.decision.conditions import holds
from headgate.decision.context import Asked, Models, not_standing
from headgate.decision.effective_assignments import counting, meaning, stands
from headgate.decision.run_scope import declared
from headgate.decision.tree import kind_of, places_of, reaches, touched
from headgate.decision.types import Decision, Missing, Path, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.describe import condition
from headgate.model.model import Alternative, AssignRule, Model

ASSIGNING = {"assignment.add": "add", "assignment.remove": "remove", "assignment.change": "change"}
"""The actions that the model's assign rules decide, and what those call them."""

Answer = tuple[Path, ...] | Missing


def decide(models: Models, facts: Snapshot, question: Question, now: float) -> Decision:
    """Answer a question on a snapshot at a time (seconds since the epoch)."""
    answer = not_standing(facts, question.caller, now) or _answer(Asked(models, facts, question, now))
    home = models.get(facts.model)
    missing = answer if isinstance(answer, Missing) else None
    paths = () if isinstance(answer, Missing) else tuple(dict.fromkeys(answer))
    return Decision(
        missing is None, facts.revision, f"{home.name} {home.version}" if home else "", question, paths, missing
    )


def discoverable(models: Models, facts: Snapshot, caller: Caller, resource: ResourceId, now: float) -> bool:
    """Say whether the caller may know that the resource is there: by the model's own action for it, or else any."""
    found = facts.resources.get(resource)
    model = Asked(models, facts, Question(caller, "", resource), now).model(found) if found else None
    if found is None or model is None:
        return False
    actions = (f"{found.type}.{model.discover}",) if model.discover else model.actions_on(found.type)
    return any(decide(models, facts, Question(caller, action, resource), now).allowed for action in actions)


def _answer(asked: Asked) -> Answer:
    facts, question = asked.facts, asked.question
    resource = facts.resources.get(question.resource)
    if resource is None:
        return Missing("no-resource", question.resource)
    if question.caller.run is not None and not declared(facts, question.caller.run, question.action, resource):
        return Missing("not-declared", resource.id)
    token = facts.tokens[question.caller.token] if question.caller.token else None
    if token and token.actions is not None and question.action not in token.actions:
        return Missing("narrowed", resource.id)
    answer = _on(asked, resource)
    if token and token.only is not None and not isinstance(answer, Missing):
        narrowed = replace(asked, listed=token.only)
        if isinstance(_on(narrowed, resource), Missing) or not held(narrowed, resource):
            return Missing("narrowed", resource.id)
    return answer


def _on(asked: Asked, resource: Resource) -> Answer:
    model = asked.model(resource)
    if model is None:
        return Missing("unknown-action", resource.id)
    if asked.question.action in ASSIGNING:
        return _assigning(asked, model, resource)
    answer, bridged = _acting(asked, model, resource), _bridged(asked, resource)
    return (bridged or answer) if isinstance(answer, Missing) else (*answer, *bridged)


def _acting(asked: Asked, model: Model, resource: Resource) -> Answer:
    action = asked.question.action
    giving, alternatives = model.giving(action), model.needs.get(action)
    if action.partition(".")[0] != resource.type or not (giving or alternatives):
        return Missing("unknown-action", resource.id)
    paths = tuple(path for path in held(asked, resource) if path.role in giving)
    if giving and not paths:
        return Missing("no-role", resource.id, giving)
    if alternatives is None:
        return paths
    answers = [_alternative(asked, model, resource, each) for each in alternatives]
    allowed = [each for each in answers if not isinstance(each, Missing)]
    if allowed:
        return (*paths, *chain.from_iterable(allowed))
    return next((each for each in answers if isinstance(each, Missing) and each.code == "no-role"), answers[0])


def _alternative(asked: Asked, model: Model, resource: Resource, alternative: Alternative) -> Answer:
    case = asked.case(model, resource)
    for term in alternative.when:
        if not holds((term,), case):
            return Missing("condition", resource.id, what=condition(term).replace("`", ""))
    found: list[Path] = []
    for needed in alternative.roles:
        places = places_of(asked.facts, asked.question, resource, needed)
        if not places and not needed.optional:
            return Missing("no-role", None, (needed.role,))
        for id in places:
            place = asked.facts.resources.get(id)
            ours = place is not None and asked.model(place) is model
            paths = [path for path in held(asked, place) if path.role == needed.role] if place and ours else []
            if not paths:
                return Missing("no-role", id, (needed.role,))
            found.extend(paths)
    return tuple(found)


def _bridged(asked: Asked, resource: Resource) -> tuple[Path, ...]:
    ports = (asked.facts.resources[id] for id in asked.facts.referrers.get(resource.id, ()))
    return tuple(
        path
        for port in ports
        if (model := asked.model(port)) is not None
        for bridge in model.bridges
        if asked.question.action in bridge.actions
        if any(edge.target == resource.id for edge in port.edges(bridge.relation))
        for path in held(asked, port)
        if path.role == bridge.role
    )


def held(asked: Asked, resource: Resource) -> Sequence[Path]:
    """Return every role that whoever asks holds on the resource, included roles too, with the way it came."""
    model = asked.model(resource)
    if model is None:
        return ()
    paths = [*_assigned(asked, model, resource), *_named(asked, model, resource), *_derived(asked, model, resource)]
    reached = [replace(path, role=role) for path in paths for role in sorted(model.roles[path.role].closure)]
    return list(dict.fromkeys(reached))


def _assigned(asked: Asked, model: Model, resource: Resource) -> Iterator[Path]:
    facts = asked.facts
    for given in counting(asked, model):
        origin = facts.resources[given.resource]
        for role in meaning(asked, model, given, origin):
            as_given = Path(role, given.subject, given.role, given.resource, None, given.reason)
            if origin.id == resource.id:
                yield as_given
            for rule in model.spread:
                there = (
                    role in rule.roles and origin.type in rule.origin and reaches(facts, model, rule, origin, resource)
                )
                if there and holds(rule.when, asked.case(model, resource)):
                    yield replace(as_given, role=rule.role or role)


def _named(asked: Asked, model: Model, resource: Resource) -> Iterator[Path]:
    principal = asked.question.caller.principal
    for rule in model.named_in:
        named = (
            {resource.creator} if rule.relation == "created_by" else {e.target for e in resource.edges(rule.relation)}
        )
        if resource.type in rule.to and principal in named:
            yield Path(rule.role, principal, rule.role, resource.id)


def _derived(asked: Asked, model: Model, resource: Resource) -> Iterator[Path]:
    rule = model.derived.get(resource.type)
    ways = [(id, _held_there(asked, model, id)) for id in touched(resource, rule)] if rule else []
    if not ways:
        return
    common = set[str].intersection(*({path.role for path in paths} for _, paths in ways))
    fewest = min(len({path.role for path in paths}) for _, paths in ways)
    for id, paths in ways:
        if len({path.role for path in paths}) == fewest:
            yield from (replace(path, weakest=id) for path in paths if path.role in common)


def _held_there(asked: Asked, model: Model, id: ResourceId) -> Sequence[Path]:
    resource = asked.facts.resources.get(id)
    # What is derived rests on what is assigned, in one step; and on nothing that another model governs.
    return (
        held(asked, resource)
        if resource and resource.type not in model.derived and asked.model(resource) is model
        else ()
    )


def _assigning(asked: Asked, model: Model, resource: Resource) -> Answer:
    question, verb = asked.question, ASSIGNING[asked.question.action]
    if verb != "change":
        return _may_assign(asked, model, resource, verb, question.role or "")
    changed = _may_assign(asked, model, resource, "change", question.new_role or "")
    if not isinstance(changed, Missing) or question.role is None:
        return changed
    taken = _may_assign(asked, model, resource, "remove", question.role)
    return taken if isinstance(taken, Missing) else _may_assign(asked, model, resource, "add", question.new_role or "")


def _may_assign(asked: Asked, model: Model, resource: Resource, verb: str, name: str) -> Answer:
    case, role, custom, subject = (
        asked.case(model, resource),
        model.roles.get(name),
        model.custom_roles,
        asked.question.subject,
    )
    # Without a subject it is for somebody who is to join: a user, of whom nothing is known yet.
    kind = kind_of(asked.facts, subject) if subject else "user"
    lasting = verb == "remove"  # what was assigned can be taken back, whatever holds now
    defined = custom and name in asked.facts.custom_roles and resource.type in custom.on and kind in custom.to
    active = custom and resource.type in custom.on and holds(custom.when, case)
    awake = role and holds(role.when, case) and not (active and custom and name in custom.replaces)
    own = role and resource.type in role.on and kind in role.to and (lasting or awake)
    if not own and not (defined and (lasting or active)):
        return Missing("not-assignable", resource.id)
    who = subject or PrincipalId("")
    if verb != "remove" and not all(stands(asked, model, s, who, kind, name, resource.id) for s in model.standing):
        return Missing("no-subject", resource.id)
    rules = [rule for rule in model.assign if verb in rule.verbs and resource.type in rule.on and kind in rule.to]
    rules = [rule for rule in rules if (own and name in rule.roles) or (defined and rule.custom)]
    found = (_by_rule(asked, model, resource, rule) for rule in rules if holds(rule.when, case))
    holders = tuple(dict.fromkeys(holder for rule in rules for holder in rule.holder))
    return tuple(chain.from_iterable(found)) or Missing("not-grantor", resource.id, holders)


def _by_rule(asked: Asked, model: Model, resource: Resource, rule: AssignRule) -> tuple[Path, ...]:
    """Return the paths by which the rule's roles are held, on the subject too, and its needs; none if it fails."""
    on_resource = [path for path in held(asked, resource) if path.role in rule.holder]
    subject = asked.facts.resources.get(ResourceId(asked.question.subject or ""))
    ours = subject is not None and asked.model(subject) is model
    on_subject = [path for path in held(asked, subject) if path.role in rule.on_subject] if subject and ours else []
    besides = _alternative(asked, model, resource, Alternative((), rule.needs))
    if isinstance(besides, Missing) or (rule.holder and not on_resource) or (rule.on_subject and not on_subject):
        return ()
    return (*on_resource, *on_subject, *besides)
