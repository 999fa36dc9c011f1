"""A loaded and checked access model. `decision/reference.py` defines how it decides."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the tree under this model: the model's own word for it, and its possible parent types.

    An `implicit` type has one resource under each parent, created together with the parent; users of the model need
    not know it. `attributes` and `relations` are those that the model declares besides the vocabulary's.
    An own type is defined by the model: no type of the vocabulary has its name.
    """

    name: str
    word: str
    parents: tuple[str, ...]
    implicit: bool = False
    attributes: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: the types on which it is set, its values, and its default."""

    name: str
    on: tuple[str, ...]
    values: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a `when`: an operand compared with values, or a condition with a name.

    `root` is one of `SETTING_ROOTS`, `self`, `parent`, `with` or `named`. A `named` condition has no values; any other holds
    if the operand is one of `values`. `negated` inverts it. A missing operand equals none of the values. The operand of
    `any_setting` are the values that the resource and all its ancestors have; the other two are about its parent.
    """

    root: str
    name: str
    values: tuple[str, ...] = ()
    negated: bool = False


SETTING_ROOTS = ("setting", "any_setting", "parent_setting", "any_parent_setting")
"""The roots of conditions on settings."""

When = tuple[Condition, ...]
"""Conditions that must all hold; an empty tuple always holds."""


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of actions, with the types in `on` and the kinds of subject in `to` for which it may be assigned.

    An assignment of it counts only while `when` holds. A `single` role has one holder on a resource: assigning it to another
    subject takes it from the former holder. `closure` are the roles it includes, also indirectly, and
    itself. `own` are its own actions, `actions` those of the whole closure.
    """

    name: str
    on: frozenset[str]
    to: frozenset[str]
    closure: frozenset[str]
    own: frozenset[str]
    actions: frozenset[str]
    when: When = ()
    single: bool = False


@dataclass(frozen=True, slots=True)
class CustomRoles:
    """Custom roles: an organization may define roles, each a set of the roles in `of`, to assign on types in `on`.

    Their assignments count only while `when` holds. While it holds, an assignment there of one of the model's roles in
    `replaces` has no effect except as the custom role of that name.
    """

    of: frozenset[str]
    on: frozenset[str]
    to: frozenset[str]
    when: When = ()
    replaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PropagationRule:
    """Propagation: an assignment of one of `roles` on a type in `origin` also gives `role` elsewhere (None: the same role).

    With `up`, it acts on the nearest resource of that type among the origin and its ancestors (with `every`: on all of
    them), and with `within` also on everything below such a resource. Without `up`, it acts on everything below the origin; with `along`, instead on
    the resources whose relation of that name leads to the origin or to a resource below it. In all cases it acts only
    on types in `to` (None: all). The reached resource must meet `when`, the origin `when_from`.
    """

    roles: frozenset[str]
    origin: frozenset[str]
    up: str | None = None
    within: bool = False
    along: str | None = None
    to: frozenset[str] | None = None
    role: str | None = None
    when: When = ()
    every: bool = False
    when_from: When = ()


@dataclass(frozen=True, slots=True)
class RelationRole:
    """The principal that a relation of a resource names holds `role` on it; `created_by` names its creator."""

    relation: str
    to: frozenset[str]
    role: str


@dataclass(frozen=True, slots=True)
class WeakestOfRule:
    """Derived access: the roles on a type are those held on every resource that the relations name; the weakest decides.

    `weakest_over` counts enabled edges only; if there are none, the edges of `when_empty` decide.
    """

    weakest_over: tuple[str, ...]
    when_empty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequiredRole:
    """A role required on each resource of a place; the place must have at least one resource, unless `optional`.

    A place is `self` or `parent`, the resources that a relation of either names, or (`with`) the resources that a
    parameter of the question names.
    """

    root: str
    relation: str | None
    role: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class OperationNeed:
    """One action that an operation needs: the first of `verbs` that the model has, on the resource that it calls `place`.

    A verb with a dot is a whole action; a text in braces is a word of the operation.
    """

    place: str
    verbs: tuple[str, ...]


def is_fixed_verb(verb: str) -> bool:
    """Whether a verb of an operation is a whole action or has a text in braces: every model has to keep these needs."""
    return "." in verb or "{" in verb or "}" in verb


OperationTable = Mapping[str, tuple[OperationNeed, ...]]
"""The needs of operations, each in their order."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One alternative of an action's requirements: all its conditions and roles are required.

    With `each`, the caller also needs, for each word of that parameter of the question, a role that gives the verb of this
    name on the resource. There must be at least one word.
    """

    when: When
    roles: tuple[RequiredRole, ...]
    each: str | None = None


@dataclass(frozen=True, slots=True)
class AssignRule:
    """Which callers may add, remove or change (`verbs`) assignments of `roles` on types in `on`, to kinds in `to`.

    A caller must hold one of the roles in `holder` on the resource (if there are any), one in `on_subject` on the
    subject itself (if there are any), and every role of `needs`. With `custom`, the rule also covers the roles that the
    organization defined. With `same`, the subject must be a resource below the same nearest resource of that type as the
    resource of the assignment.
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
    same: str | None = None


@dataclass(frozen=True, slots=True)
class MembershipRequirement:
    """Membership: below a resource of type `on`, assignments to subjects of `kinds` count only with one of `roles` on it.

    For a principal, a role held through a group suffices. Assignments of the roles in `exempt` always count.
    """

    on: str
    roles: frozenset[str]
    kinds: frozenset[str]
    exempt: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CreatorRole:
    """The creator of a resource of one of the types is assigned the role on it; with `acting`, the team in which it acts.

    With `future`, the subjects that are assigned this role above are assigned `role` instead: on the nearest resource above
    the new one on which any subject is assigned `future`.
    """

    types: frozenset[str]
    role: str
    future: str | None = None
    acting: bool = False


@dataclass(frozen=True, slots=True)
class BridgeGrant:
    """A role on a resource also gives `actions` on the resources that its relation names, under any model."""

    role: str
    relation: str
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Model:
    """An access model, identified by its name and the hash of its source.

    A subject that holds, by an assignment, one of the roles that `members` has for the type of a resource is a member of
    it and also gets the assignments that the resource has as a subject, at any depth. None means `members: [TYPE]`: an
    assignment of any role makes a member, and members of members are none. `scopes` states the roles that a new service principal of a scope is assigned, by
    the type of the resource. `newcomer` is the role of a user who joins without an invitation. `discover` is the verb
    that decides whether a caller may know that a resource exists; None: any action on it decides. `lineage` are
    relations along which roles come down as from a parent. `parameters` are, by action, those that the organization's own
    policy enforcement points pass with a question, besides the vocabulary's. `verbs` are, by type, the verbs that the model
    adds to the vocabulary. For the actions in `acting`, if the caller's token acts in a team, only the assignments of that
    team count, and of the teams of which it is a member. `operations` are the operations whose needs the model restates; those
    of the others are in `operations.yaml`.
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
    members: Mapping[str, frozenset[str] | None] = field(default_factory=dict[str, frozenset[str] | None])
    scopes: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    verbs: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    acting: frozenset[str] = frozenset()
    operations: OperationTable = field(default_factory=dict[str, tuple[OperationNeed, ...]])

    def has_action(self, action: str) -> bool:
        """Whether the model has a role or a requirement for the action."""
        return action in self.needs or any(action in role.actions for role in self.roles.values())

    def roles_granting(self, action: str) -> tuple[str, ...]:
        """Return the roles that give the action, weakest (fewest actions) first."""
        roles = [role for role in self.roles.values() if action in role.actions]
        return tuple(role.name for role in sorted(roles, key=lambda role: (len(role.actions), role.name)))

    def minimal_roles(self, roles: Collection[str]) -> tuple[str, ...]:
        """Return the roles that include no other of them: a holder of any of the roles holds one of these."""
        among = frozenset(roles)
        return tuple(role for role in roles if self.roles[role].closure & among <= {role})

    def actions_on(self, type: str) -> tuple[str, ...]:
        """Return every action on a type that a role of the model gives or that it has requirements for."""
        given = frozenset[str]().union(*(role.own for role in self.roles.values()))
        return tuple(sorted(action for action in given | self.needs.keys() if action.partition(".")[0] == type))

    def local_name(self, type: str) -> str:
        """Return the model's own word for a type of the tree."""
        known = self.types.get(type)
        return known.word if known else type
