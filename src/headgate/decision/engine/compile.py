"""Compilation of models to bit masks: a role is a bit; a principal's holdings at a place, and a requirement, are masks.

There are two kinds of bits. The bit of a role states that the role is assigned at a place. The bit of a rule and a role, which
rules with `up` or `when_from` have, states that the rule spreads an assignment of the role: with `up` to the place, where it acts
but spreads no further, and else from the place, which meets `when_from`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from typing_extensions import override

from headgate.model.model import SETTING_ROOTS, Model, Requirement, When

SELF, ABOVE, ANCESTOR = ".self", ".above", ".ancestor"
"""The relations of a place to a resource, besides named ones: the resource itself, a place from which roles come down
to it, an ancestor of it. No named relation has a dot in its name."""

_KEPT = 64
"""The most sets of models whose compilation is kept; most deployments have one or two."""

_FORESEEN = frozenset((*SETTING_ROOTS, "self", "parent"))
"""The operands of conditions whose value depends on neither the question nor the time."""


class RoleSet:
    """Roles of a model of which any one suffices.

    `holding` are the roles that include one of them, `least` those of them that include no other.
    """

    __slots__ = ("holding", "least", "roles")

    def __init__(self, model: Model, roles: frozenset[str]) -> None:
        self.roles = roles
        self.holding = frozenset(name for name, role in model.roles.items() if role.closure & roles)
        self.least = model.minimal_roles(sorted(roles))


@dataclass(frozen=True, slots=True)
class ActionRequirement:
    """Requirement of an action: one of the roles (if any role gives it), and one alternative (if any is stated)."""

    type: str
    wanted: RoleSet | None
    ways: tuple[Requirement, ...] | None


class CompiledModel:
    """One compiled model. Its results depend only on the model, so all engines may share it.

    `bit` has the bits of roles, `marks` those of rules and roles, `raised` all of rules with `up`. `joining` are the bits that
    make members of a resource of a type; None if any assignment does.
    """

    def __init__(self, model: Model, bits: Iterator[int]) -> None:
        self.model = model
        self.bit = {role: 1 << next(bits) for role in model.roles}
        self.marking = tuple((rule, each) for rule, each in enumerate(model.spread) if each.up or each.when_from)
        self.marks = {
            (rule, role): 1 << next(bits) for rule, each in self.marking for role in each.roles & model.roles.keys()
        }
        self.raised = _union(bit for (rule, _), bit in self.marks.items() if model.spread[rule].up)
        self.joining = {
            type: None if roles is None else _union(self.bit[role] for role in roles)
            for type, roles in model.members.items()
        }
        self.foreseen = all(term.root in _FORESEEN for when in _list_holding_conditions(model) for term in when)
        self.attributed = any(
            term.root in ("self", "parent") for when in _list_holding_conditions(model) for term in when
        )
        self._wanted: dict[tuple[str, ...], RoleSet] = {}
        self._masks: dict[tuple[RoleSet, tuple[int, ...], frozenset[str], str], int] = {}
        self.any_role = self.get_role_set(tuple(model.roles))
        on = {type: model.actions_on(type) for type in model.types}
        self.acts = {action: self._act(action) for actions in on.values() for action in actions}
        self.discovering = {type: (f"{type}.{model.discover}",) if model.discover else on[type] for type in on}

    def get_role_set(self, roles: tuple[str, ...]) -> RoleSet:
        """Return the shared record of these roles, without those that the model does not have."""
        found = self._wanted.get(roles)
        if found is None:
            known = frozenset(role for role in roles if role in self.model.roles)
            found = self._wanted.setdefault(roles, RoleSet(self.model, known))
        return found

    def mask(self, wanted: RoleSet, rules: tuple[int, ...], related: frozenset[str], origin: str) -> int:
        """Return the bits at a place each of which gives a wanted role on a resource.

        `rules` are the indexes of the model's spread rules that act on the resource, `related` are the relations of
        the place to it; `origin` is the place's type.
        """
        key = (wanted, rules, related, origin)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = _union(self._list_granting_bits(*key))
        return found

    def list_granting_relations(self, wanted: RoleSet, type: str) -> tuple[str, ...]:
        """Return the relations of a resource of this type that give a wanted role to the principal they name."""
        return tuple(each.relation for each in self.model.named_in if type in each.to and each.role in wanted.holding)

    def list_types_with_role(self, wanted: RoleSet) -> frozenset[str]:
        """Return the types on whose resources a wanted role can be held."""
        model = self.model
        on = [model.roles[role].on for role in wanted.holding]
        on += [model.custom_roles.on] if model.custom_roles else []
        on += [each.to for each in model.named_in if each.role in wanted.holding]
        to = [each.to for each in model.spread if wanted.holding & ({each.role} if each.role else each.roles)]
        on += [frozenset(model.types) if types is None else types for types in to]
        return frozenset(model.derived).union(*on) & model.types.keys()

    def is_position_shared(self, type: str) -> bool:
        """Whether all resources of this type with the same parent are reached by the same rules from the same places."""
        model = self.model
        along = any(rule.along and (rule.to is None or type in rule.to) for rule in model.spread)
        own = any(term.root == "self" for when in _list_holding_conditions(model) for term in when)
        return not (model.lineage or along or own or type in model.derived)

    def _list_granting_bits(
        self, wanted: RoleSet, rules: tuple[int, ...], related: frozenset[str], origin: str
    ) -> Iterator[int]:
        if SELF in related:
            yield from (self.bit[role] for role in wanted.holding)
        for rule in rules:
            each = self.model.spread[rule]
            doing = [role for role in each.roles & self.bit.keys() if (each.role or role) in wanted.holding]
            if each.up:
                if SELF in related or (each.within and ANCESTOR in related):
                    yield from (self.marks[rule, role] for role in doing)
            elif origin in each.origin and (each.along or ABOVE) in related:
                yield from (self.marks[rule, role] if each.when_from else self.bit[role] for role in doing)

    def _act(self, action: str) -> ActionRequirement:
        giving = self.model.roles_granting(action)
        return ActionRequirement(
            action.partition(".")[0], self.get_role_set(giving) if giving else None, self.model.needs.get(action)
        )


def _union(masks: Iterator[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total


def _list_holding_conditions(model: Model) -> Iterator[When]:
    """Yield the conditions on which the holdings of a principal depend, for every question."""
    yield from (role.when for role in model.roles.values())
    yield from (when for rule in model.spread for when in (rule.when, rule.when_from))
    if model.custom_roles:
        yield model.custom_roles.when


@dataclass(frozen=True, slots=True)
class CompiledModels:
    """All models in force, compiled. Each bit has one meaning.

    `foreseen` states whether holdings can be computed before the question is known, `attributed` whether they may depend
    on attributes of resources. `lineage` are the relations along which roles come down, `raised` the bits of rules with
    `up`, `bridged` the actions that a role on another resource can give, `teams` the types whose members get the assignments of
    the team, and `acting` the actions for which the team of a token matters.
    """

    rules: Mapping[str, CompiledModel]
    types: frozenset[str]
    foreseen: bool
    attributed: bool
    raised: int
    lineage: frozenset[str]
    bridged: frozenset[str]
    teams: frozenset[str]
    acting: frozenset[str]


def compile_models(models: Mapping[str, Model]) -> CompiledModels:
    """Compile the models in force. Engines with the same models share the result: most organizations have the same ones."""
    return _compile_once(tuple(_ModelInForce(name, model) for name, model in models.items()))


class _ModelInForce:
    """A model in force and its name. Two are equal only if they hold the same object: comparing whole models takes long."""

    __slots__ = ("model", "name")

    def __init__(self, name: str, model: Model) -> None:
        self.name, self.model = name, model

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ModelInForce) and self.name == other.name and self.model is other.model

    @override
    def __hash__(self) -> int:
        return hash((self.name, id(self.model)))


@lru_cache(maxsize=_KEPT)
def _compile_once(in_force: tuple[_ModelInForce, ...]) -> CompiledModels:
    return _compile({each.name: each.model for each in in_force})


def _compile(models: Mapping[str, Model]) -> CompiledModels:
    bits = count()
    rules = {name: CompiledModel(model, bits) for name, model in models.items()}
    return CompiledModels(
        rules,
        types=frozenset(type for model in models.values() for type in model.types),
        foreseen=all(each.foreseen for each in rules.values()),
        attributed=any(each.attributed for each in rules.values()),
        raised=_union(each.raised for each in rules.values()),
        lineage=frozenset(name for model in models.values() for name in model.lineage),
        bridged=frozenset(action for model in models.values() for each in model.bridges for action in each.actions),
        teams=frozenset(type for model in models.values() for type in model.members),
        acting=frozenset(action for model in models.values() for action in model.acting),
    )
