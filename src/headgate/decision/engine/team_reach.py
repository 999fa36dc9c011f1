"""Reach of a principal: its subjects at any depth, and what they give, kept so that a change costs only what it touches."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from immutables import Map

from headgate.decision.engine.grants import Grants, Masks, TeamKey, add
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Snapshot

ANY_MODEL = ""
"""The model in the keys of the principal and its groups, whose grants count under every model."""

GrantsOf = Callable[[TeamKey], Grants]
"""The grants of a subject under a model; those of the principal and its groups have all their teams in `outer`."""


@dataclass(frozen=True, slots=True)
class TeamReach:
    """The subjects whose assignments count for a principal, those with bits at each place, and these bits together.

    `roots` are the principal and its groups; the other subjects are teams. No grant depends on a membership condition.
    """

    roots: frozenset[TeamKey]
    subjects: Map[TeamKey, Grants]
    sources: Map[ResourceId, tuple[TeamKey, ...]]
    at: Masks


def list_teams(
    start: Iterable[TeamKey], known: Container[TeamKey], grants_of: GrantsOf
) -> Iterator[tuple[TeamKey, Grants]]:
    """Yield the start, and the teams of which these are members at any depth, except what is known; each with its grants."""
    seen = {each for each in start if each not in known}
    waiting = list(seen)
    while waiting:
        team = waiting.pop()
        grants = grants_of(team)
        yield team, grants
        new = [each for each in grants.outer if each not in seen and each not in known]
        seen.update(new)
        waiting.extend(new)


def build_reach(roots: frozenset[TeamKey], subjects: Mapping[TeamKey, Grants]) -> TeamReach:
    """Return the reach with these subjects."""
    sources, at = dict[ResourceId, list[TeamKey]](), Masks()
    for subject, grants in subjects.items():
        for masks in grants.masks.values():
            add(at, masks.items())
            for place in masks:
                sources.setdefault(place, []).append(subject)
    return TeamReach(roots, Map(subjects), Map({place: tuple(found) for place, found in sources.items()}), at)


def update_reach(
    reach: TeamReach, roots: frozenset[TeamKey], changed: Iterable[TeamKey], facts: Snapshot, grants_of: GrantsOf
) -> TeamReach:
    """Return the reach with other roots, after assignments to the changed subjects; it equals one that is built again."""
    old = {each: reach.subjects[each] for each in changed if each in reach.subjects}
    now = {each: grants_of(each) for each in old}
    subjects = reach.subjects.update(now)
    cut = {*(reach.roots - roots)}.union(*(old[each].outer - now[each].outer for each in old))
    lost = _find_lost(cut, roots, subjects, facts)
    old |= {each: reach.subjects[each] for each in lost}
    with subjects.mutate() as rest:
        for each in lost:
            del rest[each]
        subjects = rest.finish()
    now = {each: grants for each, grants in now.items() if each in subjects}
    starts = roots.union(*(grants.outer for grants in now.values()))
    now |= dict(list_teams(starts, subjects, grants_of))
    return _replace_places(reach, TeamReach(roots, subjects.update(now), reach.sources, reach.at.copy()), old, now)


def _find_lost(
    cut: Iterable[TeamKey], roots: Container[TeamKey], subjects: Map[TeamKey, Grants], facts: Snapshot
) -> set[TeamKey]:
    """Return the subjects that nothing reaches any more, after the memberships in those of `cut` ended."""
    doubtful = _find_reached(cut, subjects)
    kept = [each for each in doubtful if each in roots or _is_reached(each, doubtful, subjects, facts)]
    return doubtful - _find_reached(kept, subjects)


def _find_reached(start: Iterable[TeamKey], subjects: Map[TeamKey, Grants]) -> set[TeamKey]:
    """Return the start and the teams of which it is a member at any depth, without those that are not among the subjects."""
    found = {each for each in start if each in subjects}
    waiting = list(found)
    while waiting:
        new = [each for each in subjects[waiting.pop()].outer if each in subjects and each not in found]
        found.update(new)
        waiting.extend(new)
    return found


def _is_reached(team: TeamKey, doubtful: Collection[TeamKey], subjects: Map[TeamKey, Grants], facts: Snapshot) -> bool:
    """Whether a subject that is certain to be reached is a member of the team."""
    holders = facts.assignments_on.get(team[1], NO_SUBJECTS)
    members = ((model, ResourceId(each)) for each in holders for model in (team[0], ANY_MODEL))
    return any(each in subjects and each not in doubtful and team in subjects[each].outer for each in members)


def _replace_places(
    before: TeamReach, after: TeamReach, old: Mapping[TeamKey, Grants], now: Mapping[TeamKey, Grants]
) -> TeamReach:
    """Return the reach with the bits computed again at the places of the old and the new grants; its own masks are changed."""
    giving = dict[ResourceId, list[TeamKey]]()
    for grants in old.values():
        giving.update((place, []) for place in _list_places(grants))
    for subject, grants in now.items():
        for place in _list_places(grants):
            giving.setdefault(place, []).append(subject)
    sources, at = after.sources.mutate(), after.at
    for place, new in giving.items():
        still = [each for each in before.sources.get(place, ()) if each not in old and each not in now]
        found = sources[place] = (*still, *new)
        at[place] = 0
        for subject in found:
            for masks in after.subjects[subject].masks.values():
                at[place] |= masks.get(place, 0)
        if not found:
            del at[place], sources[place]
    return TeamReach(after.roots, after.subjects, sources.finish(), at)


def _list_places(grants: Grants) -> Iterator[ResourceId]:
    for masks in grants.masks.values():
        yield from masks


def keys_of(subjects: Iterable[SubjectId], models: Iterable[str]) -> Iterator[TeamKey]:
    """Yield the keys that subjects can have in a reach, under these models."""
    for subject in subjects:
        for model in (*models, ANY_MODEL):
            yield model, ResourceId(subject)
