"""A loaded access model: what a model file says, checked and ready to be asked. How it decides: `decision/reference.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the tree under this model: the model's own word for it, and the types it may lie under.

    An `implicit` type has one resource under each parent, made with it; the model's people do not speak of it.
    """

    name: str
    word: str
    parents: tuple[str, ...]
    implicit: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A switch: on which type it is set, its values, and the one that holds until it is set."""

    name: str
    on: str
    values: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a `when`: an operand compared with values, or a condition with a name.

    `root` is `setting`, `self`, `parent`, `with` or `named`. A `named` term has no values; any other holds if the
    operand is one of `values`. `negated` turns it round. An operand that is not there is none of the values.
    """

    root: str
    name: str
    values: tuple[str, ...] = ()
    negated: bool = False


When = tuple[Condition, ...]
"""Conditions that must all hold; none hold always."""


@dataclass(frozen=True, slots=True)
class Role:
    """A named bundle: where and to whom it may be assigned, the roles it includes (itself too), what it gives.

    `to` are kinds of subject. An assignment of it counts only while `when` holds. `own` are its own
    actions, `actions` those of everything included.
    """

    name: str
    on: frozenset[str]
    to: frozenset[str]
    closure: frozenset[str]
    own: frozenset[str]
    actions: frozenset[str]
    when: When = ()


@dataclass(frozen=True, slots=True)
class CustomRoles:
    """Organizations may define roles of their own: any set of `of`, assignable on types in `on`, counting while `when`.

    While it does, assignments there of the model's roles in `replaces` mean nothing but the custom role of that name.
    """

    of: frozenset[str]
    on: frozenset[str]
    to: frozenset[str]
    when: When = ()
    replaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PropagationRule:
    """An assignment of one of `roles` on a type of `origin` also acts elsewhere, as `role` (None: as itself).

    With `up`, it acts on the nearest resource of that type above, and with `within` on everything below that one
    too. Else it acts on everything below, which with `along` is what that relation of a resource leads to. In
    both cases only on types in `to` (None: all).
    """

    roles: frozenset[str]
    origin: frozenset[str]
    up: str | None = None
    within: bool = False
    along: str | None = None
    to: frozenset[str] | None = None
    role: str | None = None
    when: When = ()


@dataclass(frozen=True, slots=True)
class RelationRole:
    """The principal that a relation of a resource names holds `role` on it; `created_by` names its creator."""

    relation: str
    to: frozenset[str]
    role: str


@dataclass(frozen=True, slots=True)
class WeakestOfRule:
    """The roles on a type are those held on everything that the relations touch; the weakest decides."""

    weakest_over: tuple[str, ...]
    when_empty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequiredRole:
    """A role needed on each resource of a place; at least one, unless `optional`.

    A place is `self` or `parent`, or what a relation of theirs names, or (`with`) what the question names so.
    """

    root: str
    relation: str | None
    role: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """One way to satisfy what an action needs: conditions and roles, all of them."""

    when: When
    roles: tuple[RequiredRole, ...]


@dataclass(frozen=True, slots=True)
class AssignRule:
    """Who may add or remove assignments of `roles` on types in `on`, to subjects of a kind in `to`.

    Needs one of `holder` on the resource, where there is any, one of `on_subject` on the subject itself, where
    there is any, and every role of `needs`. `custom` lets it be a role that the organization defined. `verbs`: `add`,
    `remove`, `change`.
    """

    holder: tuple[str, ...]
    on_subject: tuple[str, ...]
    roles: frozenset[str]
    custom: bool
    on: frozenset[str]
    to: frozenset[str]
    verbs: frozenset[str]
    when: When = ()
    needs: tuple[RequiredRole, ...] = ()


@dataclass(frozen=True, slots=True)
class MembershipRequirement:
    """Whose assignments count at all below a resource of type `on`: subjects of `kinds` need one of `roles` on it.

    For a principal a role held through a group counts. `exempt` roles count without.
    """

    on: str
    roles: frozenset[str]
    kinds: frozenset[str]
    exempt: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CreatorRole:
    """Who makes a resource of one of the types is assigned the role on it."""

    types: frozenset[str]
    role: str


@dataclass(frozen=True, slots=True)
class BridgeGrant:
    """A role on a resource also gives `actions` on what a relation of that resource names, whatever model governs that."""

    role: str
    relation: str
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Model:
    """An access model in force, known by its name and the hash of its source.

    Who is assigned any role on a resource of a type in `members` is also a subject of what that resource is assigned.
    `scopes` says which roles a new service principal of a scope has, by the type of the resource it has them on.
    """

    name: str
    version: int
    hash: str
    types: Mapping[str, Type]
    settings: Mapping[str, Setting]
    roles: Mapping[str, Role]
    spread: tuple[PropagationRule, ...]
    derived: Mapping[str, WeakestOfRule]
    needs: Mapping[str, tuple[Requirement, ...]]
    assign: tuple[AssignRule, ...]
    standing: tuple[MembershipRequirement, ...] = ()
    named_in: tuple[RelationRole, ...] = ()
    lineage: tuple[str, ...] = ()
    creators: tuple[CreatorRole, ...] = ()
    custom_roles: CustomRoles | None = None
    newcomer: str | None = None
    discover: str | None = None
    bridges: tuple[BridgeGrant, ...] = ()
    members: frozenset[str] = frozenset()
    scopes: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def roles_granting(self, action: str) -> tuple[str, ...]:
        """Return the roles that give the action, weakest (fewest actions) first."""
        roles = [role for role in self.roles.values() if action in role.actions]
        return tuple(role.name for role in sorted(roles, key=lambda role: (len(role.actions), role.name)))

    def actions_on(self, type: str) -> tuple[str, ...]:
        """Return every action that the model knows on a type."""
        given = frozenset[str]().union(*(role.own for role in self.roles.values()))
        return tuple(sorted(action for action in given | self.needs.keys() if action.partition(".")[0] == type))

    def local_name(self, type: str) -> str:
        """Return the model's own word for a type of the tree."""
        known = self.types.get(type)
        return known.word if known else type
