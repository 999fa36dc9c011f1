"""Access Evaluation and Access Evaluations: one decision, or several in one request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.parsing import InvalidDocumentError
from headgate.control.questions.parsing import parse_question
from headgate.control.questions.resource_names import find_typed
from headgate.decision.types import Decision, Question
from headgate.endpoints.authzen import messages
from headgate.endpoints.authzen.messages import NOW, BadRequestError, Entity, EvaluationOptions, ForbiddenError
from headgate.endpoints.authzen.responses import Told, decision_response, error_response, explained_response
from headgate.endpoints.authzen.subjects import SubjectResolver
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

MOST = 1000
"""The largest number of evaluations in one request."""

_MOST_SAID = 20_000
"""Upper limit of (values in the default action's properties) x (evaluations): each evaluation reads the properties."""

_NOWHERE = ResourceId("")
"""The id used for a resource that does not exist, or has another type than the request says."""


class Answered(NamedTuple):
    """The body of a response, with the decisions in it and the denials of single evaluations, for the audit."""

    body: Told
    decisions: tuple[Decision, ...] = ()
    denials: tuple[Denial, ...] = ()


_SEMANTICS: Mapping[str, bool | None] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
"""Per semantic, the decision after which the remaining evaluations are skipped; None for no such decision."""

_REQUIRED = ("subject", "action", "resource")


class _Request(NamedTuple):
    """The parts of an evaluation, or the defaults of several; None for a part that the request leaves out."""

    subject: Entity | None
    action: tuple[str, Mapping[str, Any]] | None
    resource: Entity | None
    context: EvaluationOptions | None


_EMPTY = _Request(None, None, None, None)


def evaluate_request(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer an Access Evaluation.

    Raises `BadRequestError` if the request is malformed, `ForbiddenError` if the caller may not ask about the subject or
    the past.
    """
    return _evaluate(_read(source, _EMPTY), asker)


def evaluate_many(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer Access Evaluations, with defaults from the top level of the request; a single evaluation if it lists none.

    An invalid evaluation is a deny with an error, and the others are still answered.
    """
    listed = source.get("evaluations")
    if listed is None or listed == []:
        return evaluate_request(source, asker)
    evaluations, last, defaults = _parse_evaluations(listed), _last(source), _read(source, _EMPTY)
    _bound(defaults, len(evaluations))
    answers: list[Answered] = []
    for each in evaluations:
        answers.append(_one(each, defaults, asker))
        if answers[-1].body["decision"] is last:
            break
    decisions = tuple(decision for each in answers for decision in each.decisions)
    # One audit record for each action that the caller lacks, even if several evaluations need the action.
    denials = tuple(dict.fromkeys(denial for each in answers for denial in each.denials))
    return Answered({"evaluations": [each.body for each in answers]}, decisions, denials)


def resolve_resource(facts: Snapshot, named: Entity) -> ResourceId:
    """Return the id of the resource with this type and this id or dotted full name; an empty id if there is none."""
    return find_typed(facts, named.id, named.type) or _NOWHERE


def _read(source: Mapping[str, Any], defaults: _Request) -> _Request:
    said = source.get
    return _Request(
        defaults.subject if said("subject") is None else messages.parse_entity(source, "subject"),
        defaults.action if said("action") is None else messages.parse_action(source),
        defaults.resource if said("resource") is None else messages.parse_entity(source, "resource"),
        defaults.context if said("context") is None else messages.parse_context(source),
    )


def _evaluate(request: _Request, asker: SubjectResolver) -> Answered:
    subject, action, resource, context = request
    if subject is None or action is None or resource is None:
        missing = next(key for key, value in zip(_REQUIRED, request, strict=False) if value is None)
        raise BadRequestError(f"`{missing}` is missing; add it to the request")
    wanted = context or NOW
    moment = asker.moment(wanted)
    answers = moment.answers
    caller, place = asker.subject(subject, moment), resolve_resource(answers.facts, resource)
    name, properties = action
    try:
        asked = (
            parse_question(answers, caller, name, place, properties) if properties else Question(caller, name, place)
        )
    except InvalidDocumentError as error:
        raise BadRequestError(f"`action.properties`: {error}") from None
    decision = answers.check(asked, moment.time)
    # The audit records a missing resource by the name that the caller sent.
    recorded = decision if place else decision._replace(question=replace(asked, resource=ResourceId(resource.id)))
    if wanted.explain:
        return Answered(
            explained_response(decision, resource.id, asker.organization, moment, asker.caller), (recorded,)
        )
    return Answered(decision_response(decision, resource.id), (recorded,))


def _one(source: Mapping[str, Any], defaults: _Request, asker: SubjectResolver) -> Answered:
    try:
        return _evaluate(_read(source, defaults), asker)
    except BadRequestError as error:
        return Answered(error_response(400, str(error)))
    except ForbiddenError as error:
        return Answered(error_response(403, str(error)), denials=(error.denial,))


def _parse_evaluations(listed: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise BadRequestError("`evaluations` is not a list of objects; send a list of objects")
    if len(listed) > MOST:
        raise BadRequestError(f"`evaluations` has {len(listed)} members; send at most {MOST} in one request")
    return listed


def _bound(defaults: _Request, evaluations: int) -> None:
    """Raise `BadRequestError` if values in the default action's properties times `evaluations` exceeds the limit."""
    said = messages.count_values(defaults.action[1]) if defaults.action else 0
    if said * evaluations > _MOST_SAID:
        raise BadRequestError(
            f"`action.properties` has {said:,} values for {evaluations:,} evaluations; "
            f"values times evaluations may be {_MOST_SAID:,} at most; send fewer of either"
        )


def _last(source: Mapping[str, Any]) -> bool | None:
    """Return the decision after which evaluation stops; None to evaluate all."""
    named = messages.optional(source, "options").get("evaluations_semantic", "execute_all")
    if not isinstance(named, str) or named not in _SEMANTICS:
        raise BadRequestError(f"`options.evaluations_semantic` is unknown; send one of {', '.join(_SEMANTICS)}")
    return _SEMANTICS[named]
