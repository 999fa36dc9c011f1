"""Bulk index build: a whole snapshot from its facts, for use where no earlier snapshot exists.

`index_updates` maintains the same indexes one change at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from immutables import Map

from headgate.facts.assigned_subjects import AssignedSubjects, Key, Keys
from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, RunId, SubjectId, TokenId
from headgate.facts.index_updates import targets
from headgate.facts.snapshot import (
    NO_NAMES,
    AccessRequest,
    Agreement,
    Assignment,
    AssignmentIndex,
    ChangeRequest,
    Group,
    InstalledModel,
    NameIndex,
    Principal,
    Resource,
    Run,
    Snapshot,
    Token,
)

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of a snapshot, under the same names, from which, with the assignments, its indexes can be built."""

    revision: int
    organization: ResourceId | None
    model: str
    model_hashes: Map[str, str]
    installed_models: Map[str, InstalledModel]
    governs: Map[ResourceId, str]
    resources: Map[ResourceId, Resource]
    settings: Map[ResourceId, Map[str, str]]
    principals: Map[PrincipalId, Principal]
    groups: Map[GroupId, Group]
    custom_roles: Map[str, frozenset[str]]
    agreements: Map[ResourceId, Agreement]
    change_requests: Map[ResourceId, ChangeRequest]
    requests: Map[RequestId, AccessRequest]
    tokens: Map[TokenId, Token]
    run_as: Map[ResourceId, PrincipalId]
    runs: Map[RunId, Run]


def facts_of(snapshot: Snapshot) -> Facts:
    """Return the facts of a snapshot except its assignments."""
    return Facts(**{each.name: getattr(snapshot, each.name) for each in fields(Facts)})


def build_snapshot(facts: Facts, assignments: Sequence[Assignment]) -> Snapshot:
    """Return the snapshot of these facts. Assignments on one resource must be adjacent, in order of their keys."""
    held, subjects = _index_assignments(assignments)
    return Snapshot(
        **{each.name: getattr(facts, each.name) for each in fields(Facts)},
        children=_children(facts.resources),
        referrers=_index((to, id) for id, each in facts.resources.items() for to in targets(each.relations)),
        memberships=_index((member, id) for id, group in facts.groups.items() for member in group.members),
        actors_of=_index(_list_actors(facts)),
        assignments=held,
        assignments_on=subjects,
    )


def _index_assignments(
    given: Sequence[Assignment],
) -> tuple[Map[SubjectId, AssignmentIndex], Map[ResourceId, AssignedSubjects]]:
    held = defaultdict[SubjectId, list[tuple[Key, Assignment]]](list)
    subjects: dict[ResourceId, AssignedSubjects] = {}
    for place, here in groupby(given, attrgetter("resource")):
        # Most assignments share the role, and so the key, with others on the same resource.
        alone: dict[Key, Keys] = {}
        there: dict[SubjectId, Keys] = {}
        for each in here:
            key = (each.role, place, each.reason)
            keys = alone.setdefault(key, (key,))
            held[each.subject].append((keys[0], each))
            there[each.subject] = (*there[each.subject], *keys) if each.subject in there else keys
        subjects[place] = AssignedSubjects(Map(there))
    # One subject after the other, so that each map is built while its data is in the processor's cache.
    return Map((subject, Map(pairs)) for subject, pairs in held.items()), Map(subjects)


def _children(resources: Map[ResourceId, Resource]) -> Map[ResourceId, NameIndex]:
    names: dict[ResourceId, dict[str, ResourceId]] = {id: {} for id in resources}
    for each in resources.values():
        if each.parent != each.id:
            names[each.parent][each.name] = each.id
    return Map((id, Map(below) if below else NO_NAMES) for id, below in names.items())


def _list_actors(facts: Facts) -> Iterator[tuple[PrincipalId, TokenId | ResourceId]]:
    yield from ((token.principal, id) for id, token in facts.tokens.items())
    yield from ((principal, id) for id, principal in facts.run_as.items())


def _index(pairs: Iterable[tuple[K, V]]) -> Map[K, frozenset[V]]:
    found = defaultdict[K, set[V]](set)
    for key, value in pairs:
        found[key].add(value)
    return Map((key, frozenset(values)) for key, values in found.items())
