"""Access Evaluation and Access Evaluations: one decision, or several in one request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.parsing import InvalidDocumentError
from headgate.control.questions.parsing import parse_question
from headgate.decision.types import Decision, Question
from headgate.endpoints.authzen import messages
from headgate.endpoints.authzen.messages import NOW, BadRequestError, Entity, EvaluationOptions, ForbiddenError
from headgate.endpoints.authzen.responses import Told, decision_response, error_response, explained_response
from headgate.endpoints.authzen.subjects import SubjectResolver
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

MOST = 1000
"""So many evaluations in one request at most."""

_MOST_SAID = 20_000
"""Values of the default action's properties times evaluations, at most: each evaluation reads the properties."""

_NOWHERE = ResourceId("")
"""What a request names and is not there, or is of another type."""


class Answered(NamedTuple):
    """The object that answers a request, and, for the audit, the decisions that it tells of and the denials of single evaluations."""

    body: Told
    decisions: tuple[Decision, ...] = ()
    denials: tuple[Denial, ...] = ()


_SEMANTICS: Mapping[str, bool | None] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
"""After which decision the rest is left out."""

_REQUIRED = ("subject", "action", "resource")


class _Request(NamedTuple):
    """What an evaluation says, or what several have in common; None for what it does not say."""

    subject: Entity | None
    action: tuple[str, Mapping[str, Any]] | None
    resource: Entity | None
    context: EvaluationOptions | None


_EMPTY = _Request(None, None, None, None)


def evaluate_request(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer one question. Raises `BadRequestError` or `ForbiddenError` where there is none to answer."""
    return _evaluate(_read(source, _EMPTY), asker)


def evaluate_many(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer several questions, with defaults from the top of the request; one, where it lists none.

    One that cannot be asked is a deny and does not hinder the others.
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
    # One record for what the caller lacks, however many evaluations lack it.
    denials = tuple(dict.fromkeys(denial for each in answers for denial in each.denials))
    return Answered({"evaluations": [each.body for each in answers]}, decisions, denials)


def resolve_resource(facts: Snapshot, named: Entity) -> ResourceId:
    """Return the resource of this type that goes by an id or a dotted full name; what is no id where there is none."""
    found = facts.resources.get(ResourceId(named.id)) or facts.find(named.id.split("."))
    return found.id if found is not None and found.type == named.type else _NOWHERE


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
        raise BadRequestError(f"`{missing}` is missing")
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
    # The audit records a resource that is not there by the name that the caller wrote.
    recorded = decision if place else decision._replace(question=replace(asked, resource=ResourceId(resource.id)))
    if wanted.explain:
        return Answered(explained_response(decision, resource.id, asker.organization, moment), (recorded,))
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
        raise BadRequestError("`evaluations` should be a list of objects")
    if len(listed) > MOST:
        raise BadRequestError(f"`evaluations` has {len(listed)} members; {MOST} is the most in one request")
    return listed


def _bound(defaults: _Request, evaluations: int) -> None:
    """Raise `BadRequestError` where the properties of the default action are too many for so many evaluations."""
    said = messages.count_values(defaults.action[1]) if defaults.action else 0
    if said * evaluations > _MOST_SAID:
        raise BadRequestError(
            f"`action.properties` has {said:,} values for {evaluations:,} evaluations; "
            f"values times evaluations is {_MOST_SAID:,} at most"
        )


def _last(source: Mapping[str, Any]) -> bool | None:
    """Return the decision after which no further evaluation is done; None for none."""
    named = messages.optional(source, "options").get("evaluations_semantic", "execute_all")
    if not isinstance(named, str) or named not in _SEMANTICS:
        raise BadRequestError(f"`options.evaluations_semantic` should be one of {', '.join(_SEMANTICS)}")
    return _SEMANTICS[named]
