"""Impact on pipelines: those that break, as an action that they declare is lost, and those that open."""

from collections.abc import Iterable, Iterator

from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.diff.results import Ability, DecisionChange, PipelineImpact, SubjectImpact
from headgate.decision.run_scope import DECLARED, THROUGH, pipeline_edges
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, RelationsSet, ResourceCreated, RunAsSet
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot


def pipeline_effects(
    before: EvaluatedSide, after: EvaluatedSide, effects: Iterable[SubjectImpact], pipelines: Iterable[ResourceId]
) -> tuple[PipelineImpact, ...]:
    """Return the impact on these pipelines; those that are deleted or unaffected are left out."""
    on: dict[ResourceId, list[SubjectImpact]] = {}
    for effect in effects:
        on.setdefault(effect.resource, []).append(effect)
    there = after.answers.facts.resources
    found = (_effect(before, after, id, on.get(id, [])) for id in sorted(set(pipelines)) if id in there)
    return tuple(effect for effect in found if effect.breaks or effect.opens)


def find_touching_pipelines(
    before: EvaluatedSide, after: EvaluatedSide, effects: Iterable[SubjectImpact]
) -> set[ResourceId]:
    """Return the pipelines with an effect on themselves or on a resource that they touch."""
    sides, concerned = (before.answers.facts, after.answers.facts), {effect.resource for effect in effects}
    return {id for facts in sides for each in concerned for id in _find_touching(facts, each)}


def find_rewritten_pipelines(before: EvaluatedSide, after: EvaluatedSide, changes: Iterable[Change]) -> set[ResourceId]:
    """Return the pipelines that these changes create, or whose relations or run-as principal they set."""
    written = {each.resource for each in changes if isinstance(each, RelationsSet | ResourceCreated | RunAsSet)}
    return {id for id in written if any(_is_pipeline(side.answers.facts, id) for side in (before, after))}


def _is_pipeline(facts: Snapshot, id: ResourceId) -> bool:
    return id in facts.run_as or (id in facts.resources and _declares(facts.resources[id]))


def find_all_pipelines(facts: Snapshot) -> set[ResourceId]:
    """Return all pipelines: the resources that declare something."""
    return {id for id, resource in facts.resources.items() if _declares(resource)}


def _declares(resource: Resource) -> bool:
    return not (DECLARED.keys() | THROUGH.values()).isdisjoint(resource.relations)


def _find_touching(facts: Snapshot, id: ResourceId) -> Iterator[ResourceId]:
    for each in (id, *facts.referrers.get(id, ())):
        if each in facts.resources and _declares(facts.resources[each]):
            yield each
            yield from _find_indirectly_touching(facts, each)


def _find_indirectly_touching(facts: Snapshot, id: ResourceId) -> Iterator[ResourceId]:
    """Yield the pipelines that, through this resource, touch what it declares."""
    for other in facts.referrers.get(id, ()):
        resource = facts.resources.get(other)
        if resource and any(edge.target == id for name in THROUGH.values() for edge in resource.edges(name)):
            yield other


def _effect(
    before: EvaluatedSide, after: EvaluatedSide, id: ResourceId, effects: Iterable[SubjectImpact]
) -> PipelineImpact:
    run_as = after.answers.facts.run_as.get(id)
    flips = [flip for effect in effects for flip in effect.flips()]
    gained = [flip for flip in flips if flip.allowed]
    if run_as is None:
        return PipelineImpact(id, None, tuple(flip for flip in flips if not flip.allowed), tuple(gained))
    lacked, lacks = _find_missing(before, id, after), _find_missing(after, id, before)
    lost = tuple(DecisionChange(run_as, *each, allowed=False) for each in lacks if each not in lacked)
    mended = (DecisionChange(run_as, *each, allowed=True) for each in lacked if each not in lacks)
    return PipelineImpact(id, run_as, lost, (*mended, *gained))


def _find_missing(
    moment: EvaluatedSide, id: ResourceId, other: EvaluatedSide
) -> dict[tuple[Ability, ResourceId], None]:
    """Return the declared actions that the run-as principal may not perform; `other` has targets deleted on this side."""
    facts = moment.answers.facts
    pipeline, run_as = facts.resources.get(id), facts.run_as.get(id)
    if pipeline is None or run_as is None:
        return {}
    targets = (
        (actions, edge.target) for name, actions in DECLARED.items() for edge in pipeline_edges(facts, pipeline, name)
    )
    asked = ((Ability(action), target) for actions, target in targets for action in sorted(actions))
    return {
        (ability, target): None
        for ability, target in asked
        if _is_known(moment, ability, target) or _is_known(other, ability, target)
        if not moment.is_allowed(Question(Caller(run_as), ability.action, target))
    }


def _is_known(moment: EvaluatedSide, ability: Ability, target: ResourceId) -> bool:
    resource = moment.answers.facts.resources.get(target)
    return resource is not None and ability in moment.abilities(resource.type)
