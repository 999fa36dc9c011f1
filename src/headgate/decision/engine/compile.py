"""A model as numbers: a role is a bit, what somebody holds at a place is a mask, and what would do there is another.

Two kinds of bits. That of a role says that it is assigned at a place. That of a rule that goes up and a role says that
the place is where the rule takes an assignment of the role: there it acts, but spreads no further.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from headgate.model.model import Model, Requirement, When

SELF, ABOVE, ANCESTOR = ".self", ".above", ".ancestor"
"""How a place can be related to a resource, besides by a relation's name: the resource itself, what roles come down
from, what the resource lies in. No relation has a dot in its name."""

_FORESEEN = frozenset(("setting", "self", "parent"))
"""What a condition can look at that no question changes, and no time."""


class RoleSet:
    """Some roles of a model, any of which would do.

    `holding` are the roles that include one of them, `least` those of them that include no other: who holds one of the
    roles holds one of these.
    """

    __slots__ = ("holding", "least", "roles")

    def __init__(self, model: Model, roles: frozenset[str]) -> None:
        self.roles = roles
        self.holding = frozenset(name for name, role in model.roles.items() if role.closure & roles)
        self.least = tuple(_least(model, roles))


def _least(model: Model, roles: frozenset[str]) -> Iterator[str]:
    kept = set[str]()
    for name in sorted(roles, key=lambda name: (len(model.roles[name].closure), name)):
        if not model.roles[name].closure & kept:
            kept.add(name)
            yield name


@dataclass(frozen=True, slots=True)
class ActionRequirement:
    """What an action takes: one of the roles (where any role gives it), and one of the ways (where any is stated)."""

    type: str
    wanted: RoleSet | None
    ways: tuple[Requirement, ...] | None


class CompiledModel:
    """One model, compiled. Its answers depend on nothing but the model, so that all engines may share it."""

    def __init__(self, model: Model, bits: Iterator[int]) -> None:
        self.model = model
        self.bit = {role: 1 << next(bits) for role in model.roles}
        self.rising = tuple((rule, each, each.up) for rule, each in enumerate(model.spread) if each.up)
        self.raised = {
            (rule, role): 1 << next(bits) for rule, each, _ in self.rising for role in each.roles & model.roles.keys()
        }
        self.foreseen = all(term.root in _FORESEEN for when in _list_holding_conditions(model) for term in when)
        self.attributed = any(
            term.root in ("self", "parent") for when in _list_holding_conditions(model) for term in when
        )
        self._wanted: dict[tuple[str, ...], RoleSet] = {}
        self._masks: dict[tuple[RoleSet, tuple[int, ...], frozenset[str], str], int] = {}
        self.any_role = self.get_role_set(tuple(model.roles))
        self.acts = {action: self._act(action) for type in model.types for action in model.actions_on(type)}
        self.discovering = {type: self._list_discovering_actions(type) for type in model.types}

    def get_role_set(self, roles: tuple[str, ...]) -> RoleSet:
        """Return the one record for these roles; those that the model does not know are nobody's."""
        found = self._wanted.get(roles)
        if found is None:
            known = frozenset(role for role in roles if role in self.model.roles)
            found = self._wanted.setdefault(roles, RoleSet(self.model, known))
        return found

    def mask(self, wanted: RoleSet, rules: tuple[int, ...], related: frozenset[str], origin: str) -> int:
        """Return the bits at a place each of which gives a wanted role to a resource.

        `rules` says which of the model's spread rules act on the resource, `related` how the place is related to it;
        `origin` is the place's type.
        """
        key = (wanted, rules, related, origin)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = _union(self._list_granting_bits(*key))
        return found

    def list_granting_relations(self, wanted: RoleSet, type: str) -> tuple[str, ...]:
        """Return the relations of a resource of this type that give a wanted role to whom they name."""
        return tuple(each.relation for each in self.model.named_in if type in each.to and each.role in wanted.holding)

    def list_types_with_role(self, wanted: RoleSet) -> frozenset[str]:
        """Return the types on whose resources somebody can hold a wanted role at all."""
        model = self.model
        on = [model.roles[role].on for role in wanted.holding]
        on += [model.custom_roles.on] if model.custom_roles else []
        on += [each.to for each in model.named_in if each.role in wanted.holding]
        to = [each.to for each in model.spread if wanted.holding & ({each.role} if each.role else each.roles)]
        on += [frozenset(model.types) if types is None else types for types in to]
        return frozenset(model.derived).union(*on) & model.types.keys()

    def is_position_shared(self, type: str) -> bool:
        """Say whether the same rules reach all resources of this type in the same place from the same places."""
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
                    yield from (self.raised[rule, role] for role in doing)
            elif origin in each.origin and (each.along or ABOVE) in related:
                yield from (self.bit[role] for role in doing)

    def _act(self, action: str) -> ActionRequirement:
        giving = self.model.roles_granting(action)
        return ActionRequirement(
            action.partition(".")[0], self.get_role_set(giving) if giving else None, self.model.needs.get(action)
        )

    def _list_discovering_actions(self, type: str) -> tuple[str, ...]:
        return (f"{type}.{self.model.discover}",) if self.model.discover else self.model.actions_on(type)


def _union(masks: Iterator[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total


def _list_holding_conditions(model: Model) -> Iterator[When]:
    """Yield the conditions on which it rests what somebody holds, whatever the question."""
    yield from (role.when for role in model.roles.values())
    yield from (rule.when for rule in model.spread)
    if model.custom_roles:
        yield model.custom_roles.when


@dataclass(frozen=True, slots=True)
class CompiledModels:
    """All models in force. No bit means two things.

    `foreseen` is whether all that somebody holds can be known before the question is. `attributed` says that it may rest on
    attributes of resources, `lineage` by which relations it may come down, `raised` are the bits of rules that go up; `bridged` are the actions that a role elsewhere
    can give, `teams` the types whose people have what they are assigned.
    """

    rules: Mapping[str, CompiledModel]
    types: frozenset[str]
    foreseen: bool
    attributed: bool
    raised: int
    lineage: frozenset[str]
    bridged: frozenset[str]
    teams: frozenset[str]


def compile_models(models: Mapping[str, Model]) -> CompiledModels:
    """Return the models in force, compiled."""
    bits = count()
    rules = {name: CompiledModel(model, bits) for name, model in models.items()}
    return CompiledModels(
        rules,
        types=frozenset(type for model in models.values() for type in model.types),
        foreseen=all(each.foreseen for each in rules.values()),
        attributed=any(each.attributed for each in rules.values()),
        raised=_union(bit for each in rules.values() for bit in each.raised.values()),
        lineage=frozenset(name for model in models.values() for name in model.lineage),
        bridged=frozenset(action for model in models.values() for each in model.bridges for action in each.actions),
        teams=frozenset(type for model in models.values() for type in model.members),
    )
