"""A loaded access model: what a model file says, checked and ready to be asked."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """A named bundle: where it may be assigned, which roles it includes (itself too), which actions it gives."""

    name: str
    on: frozenset[str]
    closure: frozenset[str]
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Spread:
    """An assignment of one of `roles` on a type of `origin` also acts elsewhere.

    `to` is `below` (everything under the resource) or a type: the nearest ancestor of that type.
    `role` is the role that acts there; None means the same one.
    """

    roles: frozenset[str]
    origin: frozenset[str]
    to: str
    role: str | None


@dataclass(frozen=True, slots=True)
class Derived:
    """The roles on a type are those held on everything that the relations touch; the weakest decides."""

    weakest_over: tuple[str, ...]
    when_empty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """An action also needs this role on each resource that the parameter names; at least one, unless `optional`."""

    parameter: str
    role: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class AssignRule:
    """Who holds `holder` on a resource of a type in `on` may add and remove assignments of `roles` there."""

    holder: str
    roles: frozenset[str]
    on: frozenset[str]


@dataclass(frozen=True, slots=True)
class Eligible:
    """A principal can be assigned a role only if it holds one of `roles` on the resource of type `on`."""

    on: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class Model:
    """An access model in force, known by its name and the hash of its source."""

    name: str
    version: int
    hash: str
    type_names: Mapping[str, str]
    roles: Mapping[str, Role]
    spread: tuple[Spread, ...]
    derived: Mapping[str, Derived]
    requires: Mapping[str, tuple[Requirement, ...]]
    assign: tuple[AssignRule, ...]
    eligible: Eligible

    def giving(self, action: str) -> tuple[str, ...]:
        """Return the roles that give the action, weakest (fewest actions) first."""
        roles = [role for role in self.roles.values() if action in role.actions]
        return tuple(role.name for role in sorted(roles, key=lambda role: (len(role.actions), role.name)))

    def type_name(self, type: str) -> str:
        """Return the model's own word for a type of the tree."""
        return self.type_names.get(type, type)
