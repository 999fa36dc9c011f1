"""Comparison of the decisions on two snapshots, within the scopes where they may differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.decision.candidates import candidate_principals
from headgate.decision.context import EvaluationContext, model_for
from headgate.decision.diff.impact import Scope
from headgate.decision.diff.results import Ability, SubjectImpact
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model

EXACT_LIMIT = 50
"""The largest number of principals that are checked one by one; for more, `list_principals` is faster."""

Abilities = Mapping[Ability, frozenset[PrincipalId]]
"""The principals that have each ability on one resource."""


_Allowed = tuple[str, str, frozenset[Ability]]
"""The allowed abilities on a resource, with its model and type."""


@dataclass(frozen=True, slots=True)
class EvaluatedSide:
    """One side of a comparison: an evaluator and a time (seconds since the epoch). The other fields are caches."""

    answers: Answers
    now: float
    acting: dict[str, tuple[Ability, ...]] = field(default_factory=dict[str, tuple[Ability, ...]])
    equal: dict[tuple[str, str], tuple[tuple[Ability, ...], ...]] = field(
        default_factory=dict[tuple[str, str], tuple[tuple[Ability, ...], ...]]
    )
    words: dict[_Allowed, str | None] = field(default_factory=dict[_Allowed, str | None])

    def is_allowed(self, question: Question) -> bool:
        """Whether the decision is allow."""
        return self.answers.check(question, self.now).allowed

    def model(self, resource: Resource) -> Model | None:
        """Return the model that decides on a resource."""
        return model_for(self.answers.models, self.answers.facts, resource.type, resource.id)

    def abilities(self, type: str) -> tuple[Ability, ...]:
        """Return every ability on a type except assigning, under any model, as a bridge gives actions under another model."""
        if type not in self.acting:
            actions = {action for model in self.answers.models.values() for action in model.actions_on(type)}
            self.acting[type] = tuple(Ability(action) for action in sorted(actions))
        return self.acting[type]

    def equal_abilities(self, model: Model, type: str) -> tuple[tuple[Ability, ...], ...]:
        """Return the abilities on a type in groups: a principal has all or none of a group on each resource that the model decides on."""
        if (model.name, type) not in self.equal:
            groups: dict[tuple[object, ...], list[Ability]] = {}
            bridges = [each for other in self.answers.models.values() for each in other.bridges]
            for ability in self.abilities(type):
                action = ability.action
                bridged = tuple(action in each.actions for each in bridges)
                groups.setdefault((model.roles_granting(action), model.needs.get(action), bridged), []).append(ability)
            self.equal[model.name, type] = tuple(map(tuple, groups.values()))
        return self.equal[model.name, type]

    def candidates(self, resource: Resource, roles: Collection[str]) -> set[PrincipalId]:
        """Return all principals that may hold one of the roles on the resource."""
        return candidate_principals(self._build_context(resource), resource, roles)

    def _build_context(self, resource: Resource) -> EvaluationContext:
        nobody = Question(Caller(PrincipalId("")), "", resource.id)
        return EvaluationContext(self.answers.models, self.answers.facts, nobody, self.now)


@dataclass(frozen=True, slots=True)
class _ResourceSide:
    """A resource on one side of the comparison, and the model that decides on it."""

    moment: EvaluatedSide
    resource: Resource
    model: Model


@dataclass(frozen=True, slots=True)
class _Affected:
    """A resource with the principals to compare on it, and those of them whose assigning is compared, too."""

    id: ResourceId
    acting: frozenset[PrincipalId]
    giving: frozenset[PrincipalId]


def compare(
    before: EvaluatedSide, after: EvaluatedSide, scopes: Sequence[Scope], few: int = EXACT_LIMIT
) -> tuple[SubjectImpact, ...]:
    """Return the abilities that principals within the scopes lose and gain, sorted by principal and resource."""
    concerned = _list_affected(before, after, scopes)
    found = (effect for each in concerned for effect in _on(_place(before, each), _place(after, each), each, few))
    return tuple(sorted(found, key=lambda effect: (effect.principal, effect.resource)))


def _list_affected(before: EvaluatedSide, after: EvaluatedSide, scopes: Sequence[Scope]) -> Iterator[_Affected]:
    """Yield the resources in a scope that exist on at least one side; one at a time, as there may be many."""
    sides = before.answers.facts, after.answers.facts
    everybody = frozenset(id for facts in sides for id in facts.principals)
    everywhere = [scope for scope in scopes if scope.resources is None]
    within: dict[ResourceId, list[Scope]] = {id: [] for facts in sides for id in facts.resources} if everywhere else {}
    for scope in scopes:
        for id in scope.resources or ():
            within.setdefault(id, []).append(scope)
    for id, some in within.items():
        if any(id in facts.resources for facts in sides):
            here = (*everywhere, *some)
            giving = _principals(everybody, (scope for scope in here if scope.giving))
            yield _Affected(id, _principals(everybody, here), giving)


def _principals(everybody: frozenset[PrincipalId], scopes: Iterable[Scope]) -> frozenset[PrincipalId]:
    named = [scope.principals for scope in scopes]
    known = frozenset[PrincipalId]().union(*(each for each in named if each is not None)) & everybody
    return everybody if None in named else known


def _place(moment: EvaluatedSide, concerned: _Affected) -> _ResourceSide | None:
    resource = moment.answers.facts.resources.get(concerned.id)
    model = moment.model(resource) if resource else None
    return _ResourceSide(moment, resource, model) if resource and model else None


def _on(
    before: _ResourceSide | None, after: _ResourceSide | None, concerned: _Affected, few: int
) -> Iterator[SubjectImpact]:
    was, will_be = _able(before, concerned, few), _able(after, concerned, few)
    if was == will_be:
        return
    nobody = frozenset[PrincipalId]()
    changed = {each: was.get(each, nobody) ^ will_be.get(each, nobody) for each in was.keys() | will_be.keys()}
    for who in nobody.union(*changed.values()):
        had = frozenset(each for each, able in was.items() if who in able)
        has = frozenset(each for each, able in will_be.items() if who in able)
        lost, gained = tuple(sorted(had - has)), tuple(sorted(has - had))
        yield SubjectImpact(who, concerned.id, _word(before, had), _word(after, has), lost, gained)


def _able(place: _ResourceSide | None, concerned: _Affected, few: int) -> Abilities:
    """Return the principals concerned that have each ability on the resource; empty if it does not exist."""
    if place is None:
        return {}
    known = place.moment.answers.facts.principals
    here = frozenset(who for who in concerned.acting if who in known)
    able: dict[Ability, frozenset[PrincipalId]] = {}
    for equal in place.moment.equal_abilities(place.model, place.resource.type):
        able |= dict.fromkeys(equal, _find_able_principals(place, equal[0], here, few))
    giving, givers = _assignable(place), here & concerned.giving
    if giving and len(givers) > few:
        givers &= _possible_assigners(place)
    return able | {each: frozenset(who for who in givers if _may(place, who, each)) for each in giving}


def _find_able_principals(
    place: _ResourceSide, ability: Ability, here: frozenset[PrincipalId], few: int
) -> frozenset[PrincipalId]:
    if len(here) > few:
        return here & place.moment.answers.list_principals(ability.action, place.resource.id, place.moment.now)
    return frozenset(who for who in here if _may(place, who, ability))


def _may(place: _ResourceSide, who: PrincipalId, ability: Ability) -> bool:
    question = Question(Caller(who), ability.action, place.resource.id)
    if ability.role:
        question = Question(Caller(who), ability.action, place.resource.id, role=ability.role, subject=who)
    return place.moment.is_allowed(question)


def _assignable(place: _ResourceSide) -> tuple[Ability, ...]:
    type, custom = place.resource.type, place.model.custom_roles
    roles = {role.name for role in place.model.roles.values() if type in role.on}
    if custom and type in custom.on:
        roles |= set(place.moment.answers.facts.custom_roles)
    return tuple(Ability(f"assignment.{verb}", role) for verb in ("add", "remove") for role in sorted(roles))


def _possible_assigners(place: _ResourceSide) -> frozenset[PrincipalId]:
    """Return all principals that may be able to assign a role on the resource."""
    rules = [rule for rule in place.model.assign if place.resource.type in rule.on]
    if any(not rule.holder for rule in rules):
        return frozenset(place.moment.answers.facts.principals)
    return frozenset(place.moment.candidates(place.resource, {holder for rule in rules for holder in rule.holder}))


def _word(place: _ResourceSide | None, able: frozenset[Ability]) -> str | None:
    """Return the role that corresponds to the allowed abilities."""
    if place is None:
        return None
    words, allowed = place.moment.words, (place.model.name, place.resource.type, able)
    if allowed not in words:
        words[allowed] = _role_that_gives(place.model, place.resource.type, frozenset(each.action for each in able))
    return words[allowed]


def _role_that_gives(model: Model, type: str, actions: frozenset[str]) -> str | None:
    """Return the role that gives most of these actions unconditionally and no other; of equal ones, the narrowest."""
    plain = frozenset(model.actions_on(type)) - model.needs.keys()
    fitting = [
        (-len(given), len(role.actions), role.name)
        for role in model.roles.values()
        if (given := role.actions & plain) and given <= actions
    ]
    return min(fitting)[2] if fitting else None
