"""The effect of changes, or the difference of two sides, as tables of principals and pipelines with a summary."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from headgate.cli.facts.names import name_text
from headgate.cli.facts.output import print_json
from headgate.cli.output import print_table, say
from headgate.decision.diff.results import Ability, DecisionChange, Impact, PipelineImpact, SubjectImpact
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

_MANY = 3
"""The most names in a cell; JSON has them all."""


class _Alike(NamedTuple):
    """The properties by which effects are grouped into one row."""

    type: str
    before: str
    after: str
    lost: tuple[Ability, ...]
    gained: tuple[Ability, ...]


NameOf = Callable[[PrincipalId], str]
"""Returns the name of a principal."""


def print_consequences(facts: Snapshot, found: Impact, *, json: bool, name: NameOf = str) -> None:
    """Print an impact; `facts` are the source of the names of resources, and `name` of those of principals."""
    if json:
        print_json(_json(facts, found))
        return
    if found.effects:
        rows = list(_people(facts, found.effects, name))
        print_table(("principal", "resource", "before", "after", "loses", "gains"), rows)
    if found.pipelines:
        rows = [_pipeline(facts, each, name) for each in found.pipelines]
        print_table(("pipeline", "", "run-as", "loses", "gains"), rows)
    say(_summary(found))


def _summary(found: Impact) -> str:
    flips = sum(1 for _ in found.flips())
    people, places = ({each.principal for each in found.effects}, {each.resource for each in found.effects})
    breaks = sum(each.breaks for each in found.pipelines)
    opens = sum(each.opens for each in found.pipelines)
    return (
        f"decisions that flip: {flips} (principals: {len(people)}, resources: {len(places)}); "
        f"pipelines that break: {breaks}, that open: {opens}"
    )


def _people(facts: Snapshot, effects: Iterable[SubjectImpact], name: NameOf) -> Iterator[Sequence[str]]:
    """Yield one row for all principals that lose and gain the same on the same resources of a type."""
    places: dict[tuple[PrincipalId, _Alike], list[ResourceId]] = {}
    for each in effects:
        type = facts.resources[each.resource].type if each.resource in facts.resources else ""
        alike = _Alike(type, each.before or "-", each.after or "-", each.lost, each.gained)
        places.setdefault((each.principal, alike), []).append(each.resource)
    people: dict[tuple[_Alike, tuple[ResourceId, ...]], list[str]] = {}
    for (who, alike), ids in places.items():
        people.setdefault((alike, tuple(ids)), []).append(name(who))
    for (alike, ids), who in people.items():
        names = [name_text(facts, id) for id in ids]
        yield (
            _listed(who),
            _listed(names, alike.type),
            alike.before,
            alike.after,
            _able(alike.lost),
            _able(alike.gained),
        )


def _pipeline(facts: Snapshot, effect: PipelineImpact, name: NameOf) -> Sequence[str]:
    what = " and ".join(word for word, holds in (("breaks", effect.breaks), ("opens", effect.opens)) if holds)
    return (
        name_text(facts, effect.pipeline),
        what,
        name(effect.run_as) if effect.run_as else "-",
        _flipped(facts, effect.lost, name),
        _flipped(facts, effect.gained, name),
    )


def _flipped(facts: Snapshot, flips: Iterable[DecisionChange], name: NameOf) -> str:
    """Return principals and resources with the actions that flip, as one text."""
    found: dict[tuple[PrincipalId, ResourceId], list[Ability]] = {}
    for flip in flips:
        found.setdefault((flip.principal, flip.resource), []).append(flip.ability)
    parts = [f"{name(who)} on {name_text(facts, id)}: {_able(abilities)}" for (who, id), abilities in found.items()]
    return _listed(parts, separator="; ")


def _able(abilities: Sequence[Ability]) -> str:
    return _listed([_ability(each) for each in abilities], most=2 * _MANY)


def _ability(ability: Ability) -> str:
    return f"{ability.action} {ability.role}" if ability.role else ability.action.partition(".")[2]


def _listed(names: Sequence[str], kind: str = "", *, most: int = _MANY, separator: str = ", ") -> str:
    shown = separator.join(names[:most])
    several = f"{len(names)} of type {kind}: " if kind and len(names) > 1 else ""
    return f"{several}{shown}{f'{separator}{len(names) - most} more' if len(names) > most else ''}"


def _json(facts: Snapshot, found: Impact) -> dict[str, Any]:
    return {
        "flips": [_flip_json(facts, each) for each in found.flips()],
        "people": [_effect_json(facts, each) for each in found.effects],
        "pipelines": [_pipeline_json(facts, each) for each in found.pipelines],
    }


def _flip_json(facts: Snapshot, flip: DecisionChange) -> dict[str, Any]:
    return {
        "principal": flip.principal,
        "action": flip.ability.action,
        **({"role": flip.ability.role} if flip.ability.role else {}),
        "resource": name_text(facts, flip.resource),
        "before": not flip.allowed,
        "after": flip.allowed,
    }


def _effect_json(facts: Snapshot, effect: SubjectImpact) -> dict[str, Any]:
    return {
        "principal": effect.principal,
        "resource": name_text(facts, effect.resource),
        "before": effect.before,
        "after": effect.after,
        "loses": [" ".join(each).strip() for each in effect.lost],
        "gains": [" ".join(each).strip() for each in effect.gained],
    }


def _pipeline_json(facts: Snapshot, effect: PipelineImpact) -> dict[str, Any]:
    return {
        "pipeline": name_text(facts, effect.pipeline),
        "run_as": effect.run_as,
        "breaks": effect.breaks,
        "opens": effect.opens,
        "lost": [_flip_json(facts, each) for each in effect.lost],
        "gained": [_flip_json(facts, each) for each in effect.gained],
    }
