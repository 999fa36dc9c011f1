"""Loading a model file: text in, a checked `Model` out, or one error with file, line and column."""

import hashlib
from collections.abc import Collection, Mapping

from headgate.model.marked import Marked, parse
from headgate.model.model import AssignRule, Derived, Eligible, Model, Requirement, Role, Spread
from headgate.model.reader import Reader
from headgate.model.vocabulary import Action

TYPES = frozenset(
    (
        "organization", "project", "lake", "database", "table", "volume", "connection", "group",
        "source", "query", "notebook", "history", "destination", "integration", "visualization",
    )
)  # fmt: skip
"""The types of the tree (DESIGN, section 2) that this version knows."""

RELATIONS = frozenset(("inputs", "outputs", "output_layers", "connections"))
"""Relations that a derived role may follow."""

_SECTIONS = ("model", "version", "types", "roles", "spread", "derived", "requires", "assign", "eligible")
_BELOW = "below"


def load_model(text: str, actions: Mapping[str, Action], file: str) -> Model:
    """Return the model that the text states. Raises `ModelError` at the first mistake."""
    read = Reader(file)
    document = parse(text, file)
    sections = read.table(document, _SECTIONS)
    parts = {name: read.section(sections, name, document) for name in _SECTIONS}
    roles = _roles(read, parts["roles"], actions)
    return Model(
        name=read.text(parts["model"]),
        version=read.number(parts["version"]),
        hash=hashlib.sha256(text.encode()).hexdigest(),
        type_names=_type_names(read, parts["types"]),
        roles=roles,
        spread=tuple(_spread(read, each, roles) for each in read.items(parts["spread"])),
        derived=_derived(read, parts["derived"]),
        requires=_requires(read, parts["requires"], actions, roles),
        assign=tuple(_assign(read, each, roles) for each in read.items(parts["assign"])),
        eligible=_eligible(read, parts["eligible"], roles),
    )


def _type_names(read: Reader, value: Marked) -> dict[str, str]:
    return {type: read.text(name) for type, name in read.table(value, TYPES).items()}


def _roles(read: Reader, value: Marked, actions: Mapping[str, Action]) -> dict[str, Role]:
    table = read.table(value)
    includes: dict[str, tuple[str, ...]] = {}
    own: dict[str, frozenset[str]] = {}
    on: dict[str, frozenset[str]] = {}
    for name, body in table.items():
        fields = read.table(body, ("on", "includes", "actions"))
        on[name] = frozenset(read.names(read.section(fields, "on", body), TYPES, "type"))
        includes[name] = read.names(fields["includes"], table, "role") if "includes" in fields else ()
        own[name] = _role_actions(read, fields["actions"], actions) if "actions" in fields else frozenset()
    roles: dict[str, Role] = {}
    for name, body in table.items():
        closure = _closure(name, includes)
        if any(name in _closure(each, includes) for each in includes[name]):
            raise read.fail(body, f"role `{name}` includes itself")
        roles[name] = Role(name, on[name], closure, frozenset[str]().union(*(own[each] for each in closure)))
    return roles


def _closure(name: str, includes: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo.extend(includes[current])
    return frozenset(seen)


def _role_actions(read: Reader, value: Marked, actions: Mapping[str, Action]) -> frozenset[str]:
    found: set[str] = set()
    for type, names in read.table(value, TYPES).items():
        for each in read.items(names):
            name = read.known(each, actions, "action")
            if type not in actions[name].on:
                raise read.fail(each, f"action `{name}` is not asked on a {type}")
            found.add(name)
    return frozenset(found)


def _spread(read: Reader, value: Marked, roles: Collection[str]) -> Spread:
    row = read.table(value, ("roles", "from", "to", "as"))
    return Spread(
        roles=frozenset(read.names(read.section(row, "roles", value), roles, "role")),
        origin=frozenset(read.names(read.section(row, "from", value), TYPES, "type")),
        to=read.known(read.section(row, "to", value), (*TYPES, _BELOW), "type"),
        role=read.known(row["as"], roles, "role") if "as" in row else None,
    )


def _derived(read: Reader, value: Marked) -> dict[str, Derived]:
    derived: dict[str, Derived] = {}
    for each in read.items(value):
        row = read.table(each, ("types", "weakest_over", "when_empty"))
        over = read.names(read.section(row, "weakest_over", each), RELATIONS, "relation")
        if not over:
            raise read.fail(each, "`weakest_over` needs at least one relation")
        empty = read.names(read.section(row, "when_empty", each), RELATIONS, "relation")
        for type in read.names(read.section(row, "types", each), TYPES, "type"):
            if type in derived:
                raise read.fail(each, f"the roles on a {type} are derived by an earlier rule already")
            derived[type] = Derived(over, empty)
    return derived


def _requires(
    read: Reader, value: Marked, actions: Mapping[str, Action], roles: Collection[str]
) -> dict[str, tuple[Requirement, ...]]:
    return {
        name: tuple(_requirement(read, each, roles) for each in read.items(rows))
        for name, rows in read.table(value, actions).items()
    }


def _requirement(read: Reader, value: Marked, roles: Collection[str]) -> Requirement:
    row = read.table(value, ("parameter", "role", "optional"))
    return Requirement(
        read.known(read.section(row, "parameter", value), RELATIONS, "relation"),
        read.known(read.section(row, "role", value), roles, "role"),
        "optional" in row and read.flag(row["optional"]),
    )


def _assign(read: Reader, value: Marked, roles: Mapping[str, Role]) -> AssignRule:
    row = read.table(value, ("holder", "roles", "on"))
    on = frozenset(read.names(read.section(row, "on", value), TYPES, "type"))
    holder = read.known(read.section(row, "holder", value), roles, "role")
    return AssignRule(holder, _assignable(read, read.section(row, "roles", value), roles, on), on)


def _eligible(read: Reader, value: Marked, roles: Mapping[str, Role]) -> Eligible:
    row = read.table(value, ("on", "roles"))
    on = read.known(read.section(row, "on", value), TYPES, "type")
    return Eligible(on, _assignable(read, read.section(row, "roles", value), roles, frozenset((on,))))


def _assignable(read: Reader, value: Marked, roles: Mapping[str, Role], on: frozenset[str]) -> frozenset[str]:
    for each in read.items(value):
        role = roles[read.known(each, roles, "role")]
        if not on <= role.on:
            raise read.fail(each, f"role `{role.name}` is not assignable on every type of this rule")
    return frozenset(read.text(each) for each in read.items(value))
