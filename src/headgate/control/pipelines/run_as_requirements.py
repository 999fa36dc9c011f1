"""What somebody lacks of what a pipeline declares: without it no run of the pipeline begins with their rights."""

from collections.abc import Iterator, Mapping

from headgate.control.kernel.command import CommandContext
from headgate.control.questions.messages import denial_text, display_name
from headgate.decision.evaluator import Answers
from headgate.decision.run_scope import DECLARED, pipeline_edges
from headgate.decision.types import DenyReason, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.facts.snapshot import Resource

REQUIRED_ACTIONS: Mapping[tuple[str, str], str] = {
    ("inputs", "table"): "table.select",
    ("inputs", "volume"): "volume.read",
    ("outputs", "table"): "table.insert",
    ("outputs", "database"): "database.create_table",
    ("connections", "connection"): "connection.use",
}
"""The least that a run does with what is declared, by relation and type. What else it does is decided when it does it."""


def run_refusal(view: CommandContext, pipeline: Resource, run_as: PrincipalId) -> str | None:
    """Return why no run of the pipeline may go on, or begin, with the rights of this principal; None where one may."""
    lost = next(missing_privileges(view, pipeline, Caller(run_as)), None)
    return None if lost is None else f"its run-as principal may not do {lost}"


def running_refusal(answers: Answers, run: RunId, now: float) -> str | None:
    """Return why a run that is under way may not go on; None where it may, or is not under way."""
    found = answers.facts.runs.get(run)
    pipeline = answers.facts.resources.get(found.pipeline) if found else None
    return run_refusal(CommandContext(answers, None, now), pipeline, found.run_as) if found and pipeline else None


def missing_privileges(view: CommandContext, pipeline: Resource, caller: Caller) -> Iterator[str]:
    """Yield, in words, what the caller may not do of what the pipeline declares, and why not; nothing if all is allowed.

    Where the model asks who makes such a pipeline about what that names, its runs need what making it needs.
    """
    for question in (*_on_what_it_touches(view, pipeline, caller), *_recreate_privileges(view, pipeline, caller)):
        decision = view.engine.check(question, view.now)
        if not decision.allowed:
            why = denial_text(view.facts, decision.missing or DenyReason("no-role"), "it")
            yield f"`{question.action}` on `{display_name(view.facts, question.resource)}`: {why}"


def _on_what_it_touches(view: CommandContext, pipeline: Resource, caller: Caller) -> Iterator[Question]:
    for relation in DECLARED:
        for edge in pipeline_edges(view.facts, pipeline, relation):
            target = view.facts.resources.get(edge.target)
            action = REQUIRED_ACTIONS.get((relation, target.type)) if target else None
            if action is not None:
                yield Question(caller, action, edge.target)


def _recreate_privileges(view: CommandContext, pipeline: Resource, caller: Caller) -> Iterator[Question]:
    model = view.model_for(pipeline.type, pipeline.id)
    place = view.facts.resources[pipeline.parent]
    action = f"{place.type}.create_{pipeline.type}"
    # A derived type is as open as what it touches, about which is asked already.
    if pipeline.type not in model.derived and action in model.needs:
        on = _places(pipeline)
        yield Question(caller, action, place.id, on, given=pipeline.attributes)


def _places(pipeline: Resource) -> Mapping[str, tuple[ResourceId, ...]]:
    return {relation: tuple(edge.target for edge in edges) for relation, edges in pipeline.relations.items()}
