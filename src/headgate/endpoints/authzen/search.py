"""Subject, Resource and Action Search: everything of a type that an evaluation would allow."""

from collections.abc import Iterable, Mapping
from typing import Any

from headgate.control.kernel.parsing import InvalidDocumentError
from headgate.control.questions.parsing import parse_question
from headgate.decision.caller_validity import may_be_subject
from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.endpoints.authzen import messages
from headgate.endpoints.authzen.evaluation import Answered, resolve_resource
from headgate.endpoints.authzen.messages import BadRequestError
from headgate.endpoints.authzen.paging import SearchPage, page_of, parse_page
from headgate.endpoints.authzen.subjects import (
    TOKEN,
    SubjectEvaluation,
    SubjectResolver,
    caller_of_subject,
)
from headgate.facts.caller import Caller
from headgate.facts.changes import PRINCIPAL_KINDS
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def search_subjects(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer a Subject Search: the subjects of a type that may perform an action on a resource.

    Raises `ForbiddenError` if the caller may not ask about other subjects.
    """
    type, resource = messages.parse_searched_type(source, "subject"), messages.parse_entity(source, "resource")
    (action, said), page, moment = (
        messages.parse_action(source),
        parse_page(source),
        asker.moment(messages.parse_context(source)),
    )
    asker.require_asking()
    place = resolve_resource(moment.answers.facts, resource)
    if type in PRINCIPAL_KINDS and not said:
        facts = moment.answers.facts
        able = (
            id for id in moment.answers.list_principals(action, place, moment.time) if facts.principals[id].kind == type
        )
        return _page(able, type, page, moment)
    callers = {id: caller_of_subject(moment.answers.facts, type, id) for id in _of_type(moment.answers.facts, type)}
    asked = {id: _question(moment, caller, action, place, said) for id, caller in callers.items()}
    return _page(_select_allowed(moment, asked), type, page, moment)


def resources(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer a Resource Search: the resources of a type on which a subject may perform an action."""
    subject, type = messages.parse_entity(source, "subject"), messages.parse_searched_type(source, "resource")
    (action, said), page, moment = (
        messages.parse_action(source),
        parse_page(source),
        asker.moment(messages.parse_context(source)),
    )
    caller, known = asker.subject(subject, moment), moment.answers.facts.resources
    if not said:
        able = (id for id in moment.answers.list_resources(caller, action, moment.time) if known[id].type == type)
        return _page(able, type, page, moment)
    there = (id for id, each in known.items() if each.type == type)
    return _page(
        _select_allowed(moment, {id: _question(moment, caller, action, id, said) for id in there}), type, page, moment
    )


def search_actions(source: Mapping[str, Any], asker: SubjectResolver) -> Answered:
    """Answer an Action Search: the actions that a subject may perform on a resource without further properties."""
    subject, resource = messages.parse_entity(source, "subject"), messages.parse_entity(source, "resource")
    page, moment = parse_page(source), asker.moment(messages.parse_context(source))
    caller, answers = asker.subject(subject, moment), moment.answers
    place = resolve_resource(answers.facts, resource)
    known = place in answers.facts.resources
    model = model_for(answers.models, answers.facts, resource.type, place) if known else None
    asked = {action: Question(caller, action, place) for action in (model.actions_on(resource.type) if model else ())}
    names, told = page_of(sorted(_select_allowed(moment, asked)), page)
    return Answered(_body(told, moment, [{"name": name} for name in names]))


def _question(
    moment: SubjectEvaluation, caller: Caller, action: str, place: ResourceId, said: Mapping[str, Any]
) -> Question:
    try:
        return parse_question(moment.answers, caller, action, place, said)
    except InvalidDocumentError as error:
        raise BadRequestError(f"`action.properties`: {error}") from None


def _select_allowed(moment: SubjectEvaluation, asked: Mapping[str, Question]) -> Iterable[str]:
    decisions = moment.answers.check_many(tuple(asked.values()), moment.time)
    return (id for id, decision in zip(asked, decisions, strict=True) if decision.allowed)


def _of_type(facts: Snapshot, type: str) -> Iterable[str]:
    if type in PRINCIPAL_KINDS:
        return (id for id, each in facts.principals.items() if each.kind == type)
    if type == TOKEN:
        return facts.tokens
    return (id for id, each in facts.resources.items() if each.type == type and may_be_subject(facts, each))


def _page(able: Iterable[str], type: str, page: SearchPage, moment: SubjectEvaluation) -> Answered:
    ids, told = page_of(sorted(able), page)
    return Answered(_body(told, moment, [{"type": type, "id": id} for id in ids]))


def _body(page: Mapping[str, Any], moment: SubjectEvaluation, results: list[dict[str, str]]) -> dict[str, Any]:
    return {"page": page, "context": {"revision": moment.answers.facts.revision}, "results": results}
