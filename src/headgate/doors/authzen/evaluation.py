"""Access Evaluation and Access Evaluations: one decision, or several in one request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headgate.control.asking import question
from headgate.control.values import UnreadableError
from headgate.decision.records import Decision
from headgate.doors.authzen import messages
from headgate.doors.authzen.asker import Asker
from headgate.doors.authzen.messages import BadRequestError, Entity, ForbiddenError
from headgate.doors.authzen.telling import Told, explained, failed, told
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

MOST = 1000
"""So many evaluations in one request at most."""

_NOWHERE = ResourceId("")
"""What a request names and is not there, or is of another type."""


class Answered(NamedTuple):
    """The object that answers a request, and the decisions that it tells of, for the audit."""

    body: Told
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class _Semantic:
    """Which of several evaluations are done: all, or those up to the first that is decided so."""

    last: bool | None = None


_SEMANTICS: Mapping[str, _Semantic] = {
    "execute_all": _Semantic(),
    "deny_on_first_deny": _Semantic(last=False),
    "permit_on_first_permit": _Semantic(last=True),
}

_DEFAULTS = ("subject", "action", "resource", "context")


def evaluate(source: Mapping[str, Any], asker: Asker) -> Answered:
    """Answer one question. Raises `BadRequestError` or `ForbiddenError` where there is none to answer."""
    subject, resource = messages.entity(source, "subject"), messages.entity(source, "resource")
    (action, said), wanted = messages.action(source), messages.context(source)
    moment = asker.moment(wanted)
    answers = moment.answers
    caller, place = asker.subject(subject, moment), located(answers.facts, resource)
    try:
        asked = question(answers, caller, action, place, said)
    except UnreadableError as error:
        raise BadRequestError(f"`action.properties`: {error}") from None
    decision = answers.check(asked, moment.time)
    answer = (
        explained(decision, resource.id, asker.organization, moment) if wanted.explain else told(decision, resource.id)
    )
    return Answered(answer, (decision,))


def evaluate_many(source: Mapping[str, Any], asker: Asker) -> Answered:
    """Answer several questions, with defaults from the top of the request; one, where it lists none.

    One that cannot be asked is a deny and does not hinder the others.
    """
    listed = source.get("evaluations")
    if listed is None or listed == []:
        return evaluate(source, asker)
    evaluations, semantic, defaults = _listed(listed), _semantic(source), _defaults(source)
    bodies: list[Told] = []
    decisions: list[Decision] = []
    for each in evaluations:
        body, decided = _one({**defaults, **each}, asker)
        bodies.append(body)
        decisions.extend(decided)
        if body["decision"] is semantic.last:
            break
    return Answered({"evaluations": bodies}, tuple(decisions))


def located(facts: Snapshot, named: Entity) -> ResourceId:
    """Return the resource of this type that goes by an id or a dotted full name; what is no id where there is none."""
    found = facts.resources.get(ResourceId(named.id)) or facts.find(named.id.split("."))
    return found.id if found is not None and found.type == named.type else _NOWHERE


def _one(source: Mapping[str, Any], asker: Asker) -> Answered:
    try:
        return evaluate(source, asker)
    except BadRequestError as error:
        return Answered(failed(400, str(error)))
    except ForbiddenError as error:
        return Answered(failed(403, str(error)))


def _listed(listed: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise BadRequestError("`evaluations` should be a list of objects")
    if len(listed) > MOST:
        raise BadRequestError(f"`evaluations` has {len(listed)} members; {MOST} is the most in one request")
    return listed


def _semantic(source: Mapping[str, Any]) -> _Semantic:
    named = messages.optional(source, "options").get("evaluations_semantic", "execute_all")
    found = _SEMANTICS.get(named) if isinstance(named, str) else None
    if found is None:
        raise BadRequestError(f"`options.evaluations_semantic` should be one of {', '.join(_SEMANTICS)}")
    return found


def _defaults(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what holds for every evaluation that does not say otherwise, whole objects."""
    return {key: messages.part(source, key) for key in _DEFAULTS if source.get(key) is not None}


Endpoint = Callable[[Mapping[str, Any], Asker], Answered]
"""What answers a request of one kind."""
