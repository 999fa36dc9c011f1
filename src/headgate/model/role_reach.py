"""Reach of roles: the types on which each role can be held, for any assignments.

The computation uses types, not resources, so it over-approximates: a role can never be held outside its reach.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.model.model import Model, PropagationRule

Types = frozenset[str]

_NO_TYPES = Types()


@dataclass(frozen=True, slots=True)
class RoleReach:
    """The types above and below each type (itself only if it may be its own parent), and the reach of each role.

    `assigned` has the types on which the role can be assigned, also within a custom role; `held` those on which it
    can be held.
    """

    above: Mapping[str, Types]
    below: Mapping[str, Types]
    assigned: Mapping[str, Types]
    held: Mapping[str, Types]

    def targets(self, rule: PropagationRule, origins: Iterable[str]) -> Types:
        """Return the types to which the rule spreads a role from assignments on the types in `origins`."""
        everything = frozenset(self.below)
        if rule.along is not None:
            found = everything
        elif rule.up is not None:
            found = Types((rule.up,)) if any(rule.up in self.above[each] | {each} for each in origins) else _NO_TYPES
            found |= self.below[rule.up] if found and rule.within else _NO_TYPES
        else:
            found = _NO_TYPES.union(*(self.below[each] for each in origins))
        return found if rule.to is None else found & rule.to

    def acts(self, rule: PropagationRule, role: str) -> Types:
        """Return the types to which the rule spreads this role."""
        return self.targets(rule, self.assigned[role] & rule.origin) if role in rule.roles else _NO_TYPES


def compute_role_reach(model: Model) -> RoleReach:
    """Return the reach of the model's roles."""
    above = {name: _above(model, name) for name in model.types}
    # A lineage relation, along which roles come down, may connect any two types.
    below = {
        name: frozenset(model.types) if model.lineage else frozenset(each for each in above if name in above[each])
        for name in model.types
    }
    assigned = {name: _find_assigned(model, name) for name in model.roles}
    held = dict(assigned)
    start = RoleReach(above, below, assigned, held)
    for rule in model.spread:
        for role in rule.roles:
            held[rule.role or role] |= start.acts(rule, role)
    for rule in model.named_in:
        held[rule.role] |= rule.to
    closed = _included(model, held)
    for role, types in closed.items():
        if types - model.derived.keys():
            closed[role] |= model.derived.keys()
    return RoleReach(above, below, assigned, closed)


def _above(model: Model, type: str) -> Types:
    seen: set[str] = set()
    todo = [type]
    while todo:
        parents = [each for each in model.types[todo.pop()].parents if each in model.types and each not in seen]
        seen.update(parents)
        todo.extend(parents)
    return Types(seen)


def _find_assigned(model: Model, role: str) -> Types:
    custom = model.custom_roles
    return model.roles[role].on | (custom.on if custom and role in custom.of else _NO_TYPES)


def _included(model: Model, held: Mapping[str, Types]) -> dict[str, Types]:
    return {
        role: _NO_TYPES.union(*(held[other.name] for other in model.roles.values() if role in other.closure))
        for role in model.roles
    }
