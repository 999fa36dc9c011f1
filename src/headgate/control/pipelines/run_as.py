"""Run-as: the principal whose privileges the runs of a pipeline use, and those that it needs for a run to begin and continue."""

from collections.abc import Iterator, Mapping

from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.identity.tokens import require_may_act_as
from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.errors import InvalidError
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
"""The minimum that a run does with a declared resource, by relation and type. Other actions are decided when they happen."""


def resolve_run_as(view: CommandContext, pipeline: Resource, service: PrincipalId | None) -> PrincipalId:
    """Return the run-as principal of a pipeline that the caller saves: the caller's principal, or a service principal.

    The caller must be able to act as the service principal, which must be allowed all that the pipeline declares. A narrowed
    token must be allowed all of it too, because the runs have all privileges of its principal. Otherwise raises
    `InvalidError`.
    """
    caller = view.caller
    if caller is None:
        raise InvalidError(
            "a pipeline must be changed by a user or a service principal, because its runs use the privileges of that "
            "principal; send the request with a token of one"
        )
    if service is not None and service != caller.principal:
        found = view.facts.principals.get(service)
        if found is None or found.kind != "service_principal":
            raise InvalidError(
                "`run_as` is not a service principal of this organization; choose one, or leave `run_as` out to use your own privileges"
            )
        require_may_act_as(view, service)
        lacked = next(missing_privileges(view, pipeline, Caller(service)), None)
        if lacked is not None:
            raise InvalidError(
                f"the service principal in `run_as` may not do {lacked}; assign it a role that allows the action, or choose another service principal"
            )
    elif is_narrowed(view.facts, caller):
        lacked = next(missing_privileges(view, pipeline, caller), None)
        if lacked is not None:
            raise InvalidError(
                f"your token is limited to some resources or actions and may not do {lacked}; save the pipeline with a "
                "token that allows the action"
            )
    return service or caller.principal


def find_start_refusal(view: CommandContext, pipeline: Resource, run_as: PrincipalId) -> str | None:
    """Return why no run of the pipeline may begin or continue with the privileges of this principal, or None."""
    lost = next(missing_privileges(view, pipeline, Caller(run_as)), None)
    return (
        None
        if lost is None
        else f"the run-as principal of the pipeline may not do {lost}; assign the principal a role that allows the action, or save the pipeline as another principal"
    )


def find_continuation_refusal(answers: Answers, run: RunId, now: float) -> str | None:
    """Return why a run that is under way may not continue; None if it may, or is not under way."""
    found = answers.facts.runs.get(run)
    pipeline = answers.facts.resources.get(found.pipeline) if found else None
    return (
        find_start_refusal(CommandContext(answers, None, now), pipeline, found.run_as) if found and pipeline else None
    )


def missing_privileges(view: CommandContext, pipeline: Resource, caller: Caller) -> Iterator[str]:
    """Yield, in words, each action on a declared resource that the caller may not do, and why not.

    If the model requires privileges on the declared resources for creating such a pipeline, its runs require them too.
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
    # Access to a derived type is computed from its declared resources, which are checked already.
    if pipeline.type not in model.derived and action in model.needs:
        on = _places(pipeline)
        yield Question(caller, action, place.id, on, given=pipeline.attributes)


def _places(pipeline: Resource) -> Mapping[str, tuple[ResourceId, ...]]:
    return {relation: tuple(edge.target for edge in edges) for relation, edges in pipeline.relations.items()}
