"""Comparing what is answered on two snapshots, decision by decision, where they may differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from headgate.decision.affected import Scope
from headgate.decision.answers import Answers
from headgate.decision.asked import Asked
from headgate.decision.consequences import Ability, Effect
from headgate.decision.records import Question
from headgate.decision.sources import candidates
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model

FEW = 50
"""Up to so many principals are asked about one by one; beyond, it is quicker to ask who may."""

Able = Mapping[Ability, frozenset[PrincipalId]]
"""Who may do what on one resource."""


_Allowed = tuple[str, str, frozenset[str]]
"""What is allowed on something: by which model, on which type, which actions."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What answers at a time (seconds since the epoch). What `acting` and `words` keep is worked out once."""

    answers: Answers
    now: float
    acting: dict[str, tuple[Ability, ...]] = field(default_factory=dict[str, tuple[Ability, ...]])
    words: dict[_Allowed, str | None] = field(default_factory=dict[_Allowed, str | None])

    def allowed(self, question: Question) -> bool:
        """Say whether a question is answered with allow."""
        return self.answers.check(question, self.now).allowed

    def model(self, resource: Resource) -> Model | None:
        """Return the model that decides on a resource."""
        return self._asked(resource).model(resource)

    def abilities(self, type: str) -> tuple[Ability, ...]:
        """Return every ability on a type that is no assigning, under any model: a bridge leads from one to another."""
        if type not in self.acting:
            actions = {action for model in self.answers.models.values() for action in model.actions_on(type)}
            self.acting[type] = tuple(Ability(action) for action in sorted(actions))
        return self.acting[type]

    def candidates(self, resource: Resource, roles: Collection[str]) -> set[PrincipalId]:
        """Return everybody who may hold one of the roles there."""
        return candidates(self._asked(resource), resource, roles)

    def _asked(self, resource: Resource) -> Asked:
        nobody = Question(Caller(PrincipalId("")), "", resource.id)
        return Asked(self.answers.models, self.answers.facts, nobody, self.now)


@dataclass(frozen=True, slots=True)
class _Concerned:
    """Who is to be asked about on a resource, and who of them about what they may assign there."""

    acting: set[PrincipalId] = field(default_factory=set[PrincipalId])
    giving: set[PrincipalId] = field(default_factory=set[PrincipalId])


def effects(before: Moment, after: Moment, scopes: Iterable[Scope], few: int = FEW) -> tuple[Effect, ...]:
    """Return what anybody within the scopes loses and gains, by principal and resource."""
    found = (
        effect
        for id, concerned in _concerned(before, after, scopes).items()
        for effect in _on(before, after, id, concerned, few)
    )
    return tuple(sorted(found, key=lambda effect: (effect.principal, effect.resource)))


def _concerned(before: Moment, after: Moment, scopes: Iterable[Scope]) -> Mapping[ResourceId, _Concerned]:
    """Return who is to be asked about on each resource that is there on one side at least."""
    sides = before.answers.facts, after.answers.facts
    everybody = {id for facts in sides for id in facts.principals}
    everything = {id for facts in sides for id in facts.resources}
    found: dict[ResourceId, _Concerned] = {}
    for scope in scopes:
        principals = everybody if scope.principals is None else scope.principals & everybody
        for id in everything if scope.resources is None else scope.resources & everything:
            here = found.setdefault(id, _Concerned())
            here.acting.update(principals)
            here.giving.update(principals if scope.giving else ())
    return found


def _on(before: Moment, after: Moment, id: ResourceId, concerned: _Concerned, few: int) -> Iterator[Effect]:
    was, will_be = _able(before, id, concerned, few), _able(after, id, concerned, few)
    nobody = frozenset[PrincipalId]()
    changed = {each: was.get(each, nobody) ^ will_be.get(each, nobody) for each in was.keys() | will_be.keys()}
    for who in nobody.union(*changed.values()):
        had = frozenset(each for each, able in was.items() if who in able)
        has = frozenset(each for each, able in will_be.items() if who in able)
        lost, gained = tuple(sorted(had - has)), tuple(sorted(has - had))
        yield Effect(who, id, _word(before, id, had), _word(after, id, has), lost, gained)


def _able(moment: Moment, id: ResourceId, concerned: _Concerned, few: int) -> Able:
    """Return which of those concerned may do what on the resource; nothing on what is not there."""
    facts = moment.answers.facts
    resource = facts.resources.get(id)
    model = moment.model(resource) if resource else None
    if resource is None or model is None:
        return {}
    here = frozenset(who for who in concerned.acting if who in facts.principals)
    able = {each: _who(moment, each, id, here, few) for each in moment.abilities(resource.type)}
    giving = _assignable(moment, model, resource.type)
    known = here & concerned.giving
    if giving and len(known) > few:
        known &= _givers(moment, model, resource)
    return able | {each: frozenset(who for who in known if _may(moment, who, each, id)) for each in giving}


def _who(
    moment: Moment, ability: Ability, id: ResourceId, here: frozenset[PrincipalId], few: int
) -> frozenset[PrincipalId]:
    if len(here) > few:
        return here & moment.answers.who(ability.action, id, moment.now)
    return frozenset(who for who in here if _may(moment, who, ability, id))


def _may(moment: Moment, who: PrincipalId, ability: Ability, id: ResourceId) -> bool:
    if not ability.role:
        return moment.allowed(Question(Caller(who), ability.action, id))
    return moment.allowed(Question(Caller(who), ability.action, id, role=ability.role, subject=who))


def _assignable(moment: Moment, model: Model, type: str) -> tuple[Ability, ...]:
    roles = {role.name for role in model.roles.values() if type in role.on}
    if model.custom_roles and type in model.custom_roles.on:
        roles |= set(moment.answers.facts.custom_roles)
    return tuple(Ability(f"assignment.{verb}", role) for verb in ("add", "remove") for role in sorted(roles))


def _givers(moment: Moment, model: Model, resource: Resource) -> frozenset[PrincipalId]:
    """Return everybody who may be able to assign something on the resource."""
    rules = [rule for rule in model.assign if resource.type in rule.on]
    if any(not rule.holder for rule in rules):
        return frozenset(moment.answers.facts.principals)
    return frozenset(moment.candidates(resource, {holder for rule in rules for holder in rule.holder}))


def _word(moment: Moment, id: ResourceId, able: frozenset[Ability]) -> str | None:
    """Return the role that is as much as what is allowed."""
    resource = moment.answers.facts.resources.get(id)
    model = moment.model(resource) if resource else None
    if resource is None or model is None:
        return None
    allowed = model.name, resource.type, frozenset(each.action for each in able)
    if allowed not in moment.words:
        moment.words[allowed] = _role_that_gives(model, *allowed[1:])
    return moment.words[allowed]


def _role_that_gives(model: Model, type: str, actions: frozenset[str]) -> str | None:
    """Return the role that gives the most of these actions without condition, and no other; the narrower one."""
    plain = frozenset(model.actions_on(type)) - model.needs.keys()
    fitting = [
        (-len(given), len(role.actions), role.name)
        for role in model.roles.values()
        if (given := role.actions & plain) and given <= actions
    ]
    return min(fitting)[2] if fitting else None
