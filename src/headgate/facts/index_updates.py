"""Incremental index updates: adds facts to a snapshot and removes them, and keeps every index consistent.

An id names one entity only, of whatever kind, so one function deletes all kinds. The cost of a change depends on the
facts that it touches, not on the size of the snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from immutables import Map

from headgate.facts.assigned_subjects import Key
from headgate.facts.changes import Relations
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId, TokenId
from headgate.facts.snapshot import (
    NO_NAMES,
    NO_SUBJECTS,
    NOTHING_HELD,
    Assignment,
    NameIndex,
    Resource,
    Snapshot,
    Token,
)

K = TypeVar("K")
V = TypeVar("V")

_NOTHING: frozenset[Any] = frozenset()


def add_resource(s: Snapshot, resource: Resource) -> Snapshot:
    """Return the snapshot with a new resource. Raises `KeyError` if its parent does not exist."""
    siblings = s.children[resource.parent].set(resource.name, resource.id)
    return s._replace(
        resources=s.resources.set(resource.id, resource),
        children=s.children.set(resource.parent, siblings).set(resource.id, NO_NAMES),
        referrers=_link(s.referrers, targets(resource.relations), resource.id),
    )


def set_relations(s: Snapshot, resource: ResourceId, relations: Relations) -> Snapshot:
    """Return the snapshot with the resource's relations replaced by these."""
    old = s.resources[resource]
    before, after = targets(old.relations), targets(relations)
    return s._replace(
        resources=s.resources.set(resource, replace(old, relations=relations)),
        referrers=_link(_unlinked(s.referrers, before - after, resource), after - before, resource),
    )


def targets(relations: Relations) -> set[ResourceId]:
    """Return the targets of all edges of the relations, enabled or not."""
    return {edge.target for edges in relations.values() for edge in edges}


def add_assignments(s: Snapshot, assignment: Assignment) -> Snapshot:
    """Return the snapshot with an assignment; it replaces the one with the same subject, role, resource and reason."""
    subject, place = assignment.subject, assignment.resource
    key = (assignment.role, place, assignment.reason)
    there = s.assignments_on.get(place, NO_SUBJECTS)
    keys = there.keys_of(subject)
    return s._replace(
        assignments=s.assignments.set(subject, s.assignments.get(subject, NOTHING_HELD).set(key, assignment)),
        assignments_on=s.assignments_on
        if key in keys
        else s.assignments_on.set(place, there.with_keys(subject, tuple(sorted((*keys, key))))),
    )


def remove_assignments(s: Snapshot, assignments: Iterable[tuple[SubjectId, Key]]) -> Snapshot:
    """Return the snapshot without these assignments; those that do not exist are ignored."""
    held, subjects = s.assignments, s.assignments_on
    for subject, key in assignments:
        if key in held.get(subject, NOTHING_HELD):
            held = _set_or_remove(held, subject, held[subject].delete(key))
            there = subjects[key[1]]
            rest = tuple(each for each in there[subject] if each != key)
            subjects = _set_or_remove(subjects, key[1], there.with_keys(subject, rest))
    return s._replace(assignments=held, assignments_on=subjects)


def add_members(s: Snapshot, group: GroupId, principals: Iterable[PrincipalId]) -> Snapshot:
    """Return the snapshot with these principals in the group. Raises `KeyError` if there is no such group."""
    found, new = s.groups[group], frozenset(principals)
    groups = s.groups.set(group, replace(found, members=found.members | new))
    return s._replace(groups=groups, memberships=_link(s.memberships, new, group))


def remove_members(s: Snapshot, group: GroupId, principals: Iterable[PrincipalId]) -> Snapshot:
    """Return the snapshot without these principals in the group. Raises `KeyError` if there is no such group."""
    found, gone = s.groups[group], frozenset(principals)
    groups = s.groups.set(group, replace(found, members=found.members - gone))
    return s._replace(groups=groups, memberships=_unlinked(s.memberships, gone, group))


def add_token(s: Snapshot, id: TokenId, token: Token) -> Snapshot:
    """Return the snapshot with a new token."""
    return s._replace(tokens=s.tokens.set(id, token), actors_of=_link(s.actors_of, (token.principal,), id))


def runs_as(s: Snapshot, pipeline: ResourceId, principal: PrincipalId) -> Snapshot:
    """Return the snapshot with this principal as the pipeline's run-as."""
    before = {s.run_as[pipeline]} if pipeline in s.run_as else set[PrincipalId]()
    acting = _link(_unlinked(s.actors_of, before, pipeline), (principal,), pipeline)
    return s._replace(run_as=s.run_as.set(pipeline, principal), actors_of=acting)


def assignments_of_agreement(s: Snapshot, access: ResourceId) -> Iterator[tuple[SubjectId, Key]]:
    """Yield the assignments on an agreement's port that were made for it."""
    for subject, keys in s.assignments_on.get(s.agreements[access].port, NO_SUBJECTS).items():
        yield from ((subject, key) for key in keys if key[2] == access)


def delete_entity(s: Snapshot, id: str) -> Snapshot:
    """Return the snapshot without the entity of this id: a resource, principal, group or token, or several of these.

    The resources below it, a principal's tokens, and every assignment to, on or for any of them are deleted with it.
    Edges of other resources to it remain, so that they still name the deleted entity.
    """
    gone = _with_belongings(s, id)
    s = remove_assignments(s, _assignments_of(s, gone))
    for each in gone:
        s = _without_references(s, each)
    return s._replace(
        governs=_without(s.governs, gone),
        resources=_without(s.resources, gone),
        children=_without(_without_children(s, gone), gone),
        settings=_without(s.settings, gone),
        principals=_without(s.principals, gone),
        groups=_without(s.groups, gone),
        agreements=_without(s.agreements, gone),
        change_requests=_without(s.change_requests, gone),
        tokens=_without(s.tokens, gone),
        actors_of=_without(s.actors_of, gone),
        run_as=_without(s.run_as, gone),
    )


def _with_belongings(s: Snapshot, id: str) -> Mapping[str, None]:
    found: dict[str, None] = {}
    waiting = [id]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found[current] = None
            waiting.extend(s.children.get(ResourceId(current), NO_NAMES).values())
            waiting.extend(each for each in _tokens_and_runs(s, PrincipalId(current)) if each in s.tokens)
    return found


def _tokens_and_runs(s: Snapshot, principal: PrincipalId) -> frozenset[TokenId | ResourceId]:
    return s.actors_of.get(principal, _NOTHING)


def _assignments_of(s: Snapshot, gone: Iterable[str]) -> Iterator[tuple[SubjectId, Key]]:
    for id in gone:
        subject, place = PrincipalId(id), ResourceId(id)
        yield from ((subject, key) for key in s.assignments.get(subject, NOTHING_HELD))
        for holder, keys in s.assignments_on.get(place, NO_SUBJECTS).items():
            yield from ((holder, key) for key in keys)
        if place in s.agreements:
            yield from assignments_of_agreement(s, place)


def _without_references(s: Snapshot, id: str) -> Snapshot:
    """Return the snapshot without references to the id in groups, tokens, run-as and relations; most ids have few."""
    principal, group, resource, token = PrincipalId(id), GroupId(id), ResourceId(id), TokenId(id)
    for each in s.groups_of(principal):
        s = remove_members(s, each, (principal,))
    if group in s.groups:
        s = remove_members(s, group, s.groups[group].members)
    if principal in s.actors_of:
        s = s._replace(run_as=_without(s.run_as, _tokens_and_runs(s, principal)))
    if resource in s.run_as:
        s = s._replace(actors_of=_unlinked(s.actors_of, (s.run_as[resource],), resource))
    if token in s.tokens:
        s = s._replace(actors_of=_unlinked(s.actors_of, (s.tokens[token].principal,), token))
    if resource in s.resources and s.resources[resource].relations:
        s = set_relations(s, resource, {})
    return s


def _without_children(s: Snapshot, gone: Mapping[str, None]) -> Map[ResourceId, NameIndex]:
    """Return the children of all resources, without deleted resources below remaining ones."""
    going = (s.resources[ResourceId(id)] for id in gone if id in s.resources)
    children = s.children
    for each in going:
        if each.parent not in gone:
            children = children.set(each.parent, children[each.parent].delete(each.name))
    return children


def _link(index: Map[K, frozenset[V]], keys: Iterable[K], value: V) -> Map[K, frozenset[V]]:
    for key in keys:
        index = index.set(key, index.get(key, _NOTHING) | {value})
    return index


def _unlinked(index: Map[K, frozenset[V]], keys: Iterable[K], value: V) -> Map[K, frozenset[V]]:
    for key in keys:
        index = _set_or_remove(index, key, index.get(key, _NOTHING) - {value})
    return index


def _set_or_remove(index: Map[K, V], key: K, rest: V) -> Map[K, V]:
    """Return the index with the rest under the key; an empty rest has no entry."""
    return index.set(key, rest) if rest else _without(index, (key,))


def _without(facts: Map[K, V], gone: Iterable[Any]) -> Map[K, V]:
    there = [key for key in gone if key in facts]
    if not there:
        return facts
    rest = facts.mutate()
    for key in there:
        del rest[key]
    return rest.finish()
