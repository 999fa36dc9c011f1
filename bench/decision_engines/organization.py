"""The organization of all questions, in terms of no engine: the same one for the same sizes."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

LEVELS = ("viewer", "editor", "manager")
"""The levels, weakest first; each includes those before it."""

_SEED = 20261121
_LEVEL_WEIGHTS = (6, 3, 1)
_LAYERS_OF_A_GROUP = 5
_GROUPS_OF_A_USER = 9
_EDGES_OF_A_PIPELINE = 8
_DISABLED = 0.1


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of an organization. One in ten edges of pipelines is disabled."""

    users: int = 2_000
    groups: int = 200
    layers: int = 100
    tables: int = 20_000
    pipelines: int = 4_000
    grants: int = 10_000


USUAL = Sizes()
SMALL = Sizes(users=40, groups=4, layers=10, tables=200, pipelines=40, grants=160)
"""The sizes of a quick run."""
VARIANTS: Mapping[str, Sizes] = {
    "usual": USUAL,
    "10 x data": replace(USUAL, tables=10 * USUAL.tables, grants=10 * USUAL.grants),
    "50 x people": replace(USUAL, users=50 * USUAL.users),
}
"""The measured sizes."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant: a user or group has a level on a layer or table."""

    subject: str
    level: str
    place: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A table that a pipeline uses, and whether the edge is enabled."""

    table: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Organization:
    """The users, groups, tables and pipelines of an organization, and its grants.

    `groups` has the members of each group, `layer_of` the layer of each table, `pipelines` the edges of each: first
    the table that it writes, in one layer, then those that it reads, in another.
    """

    users: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    layers: tuple[str, ...]
    layer_of: Mapping[str, str]
    pipelines: Mapping[str, tuple[Edge, ...]]
    grants: tuple[Grant, ...]

    def touched(self, resource: str) -> tuple[str, ...]:
        """Return the tables that decide access to a resource: the table itself, or the enabled tables of a pipeline."""
        edges = self.pipelines.get(resource)
        return (resource,) if edges is None else tuple(edge.table for edge in edges if edge.enabled)

    def groups_of(self) -> dict[str, list[str]]:
        """Return the groups of each user."""
        found: dict[str, list[str]] = {user: [] for user in self.users}
        for group, members in self.groups.items():
            for member in members:
                found[member].append(group)
        return found


def generate(sizes: Sizes) -> Organization:
    """Return the organization of these sizes."""
    chance = random.Random(_SEED)  # noqa: S311 - no secret: the organization must be the same each time
    users = _names("user", sizes.users)
    groups = _names("group", sizes.groups)
    layers = _names("layer", sizes.layers)
    layer_of = {table: layers[number % len(layers)] for number, table in enumerate(_names("table", sizes.tables))}
    return Organization(
        users=users,
        groups=_members(chance, users, groups),
        layers=layers,
        layer_of=layer_of,
        pipelines=_pipelines(chance, _names("pipeline", sizes.pipelines), layers, layer_of),
        grants=_grants(chance, sizes.grants, users, groups, layers, tuple(layer_of)),
    )


def _names(kind: str, count: int) -> tuple[str, ...]:
    return tuple(f"{kind}-{number}" for number in range(count))


def _members(chance: random.Random, users: tuple[str, ...], groups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Add each user to one to nine groups; the first groups are large, most have some dozens of members."""
    weights = list(accumulate(1 / rank for rank in range(1, len(groups) + 1)))
    members: dict[str, list[str]] = {group: [] for group in groups}
    for user in users:
        count = chance.randint(1, _GROUPS_OF_A_USER)
        for group in dict.fromkeys(chance.choices(groups, cum_weights=weights, k=count)):
            members[group].append(user)
    return {group: tuple(there) for group, there in members.items()}


def _pipelines(
    chance: random.Random, names: tuple[str, ...], layers: tuple[str, ...], layer_of: Mapping[str, str]
) -> dict[str, tuple[Edge, ...]]:
    """Create pipelines that read tables of one layer and write one of another; at least one edge is enabled."""
    tables_of: dict[str, list[str]] = {layer: [] for layer in layers}
    for table, layer in layer_of.items():
        tables_of[layer].append(table)
    pipelines: dict[str, tuple[Edge, ...]] = {}
    for name in names:
        source, target = chance.sample(layers, 2)
        reads = chance.sample(tables_of[source], chance.randint(0, _EDGES_OF_A_PIPELINE - 1))
        edges = [Edge(table, chance.random() >= _DISABLED) for table in (chance.choice(tables_of[target]), *reads)]
        if not any(edge.enabled for edge in edges):
            edges[0] = replace(edges[0], enabled=True)
        pipelines[name] = tuple(edges)
    return pipelines


def _grants(
    chance: random.Random,
    count: int,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    layers: tuple[str, ...],
    tables: tuple[str, ...],
) -> tuple[Grant, ...]:
    """Create grants of each group on a few layers; the other grants of `count` are on tables, half to groups and half to users."""
    places = [(group, layer) for group in groups for layer in chance.sample(layers, _LAYERS_OF_A_GROUP)]
    taken = dict.fromkeys(places[:count])
    while len(taken) < count:
        subject = chance.choice(users if len(taken) % 2 else groups)
        taken[subject, chance.choice(tables)] = None
    levels = chance.choices(LEVELS, weights=_LEVEL_WEIGHTS, k=count)
    grants = [Grant(subject, level, place) for (subject, place), level in zip(taken, levels, strict=True)]
    chance.shuffle(grants)  # an engine that stops at the first match should not find the grants on layers first
    return tuple(grants)
