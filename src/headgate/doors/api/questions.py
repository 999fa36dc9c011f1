"""Ask why: may somebody do something, by which path, and what would change it."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.decision.explain import smallest_fixes
from headgate.decision.records import Explanation, Fix, Needed, Path, Question
from headgate.doors.api.names import Text, resource, written
from headgate.doors.problems import ProblemError
from headgate.doors.services import By, Services, Uses
from headgate.facts.caller import Caller

router = APIRouter(tags=["questions"])


class Asked(BaseModel):
    """An action on a resource, for oneself or, by name, for somebody else."""

    action: Text
    resource: Text
    person: Text | None = None


@router.post("/questions")
def ask(body: Asked, services: Uses, caller: By) -> dict[str, Any]:
    """Answer with the reasons. About somebody else: for who manages users, who then sees every fix."""
    control = services.control
    place = resource(services, caller, body.resource)
    about = _about(services, caller, body.person)
    question = Question(about, body.action, place)
    explained = control.explain(question)
    fixes = explained.fixes
    if about.principal != caller.principal and not explained.decision.allowed:
        answers = control.answers
        fixes = smallest_fixes(answers.models, answers.facts, question, control.now, answers)
    return _answer(services, body, explained, fixes)


def _about(services: Services, caller: Caller, person: str | None) -> Caller:
    if person is None:
        return caller
    root = services.control.snapshot.organization
    question = Question(caller, "organization.manage_users", root) if root else None
    if question is None or not services.control.ask(question).allowed:
        raise ProblemError(403, "refused", "only who manages users may ask about somebody else")
    return Caller(services.directory.principal(person))


def _answer(services: Services, body: Asked, explained: Explanation, fixes: tuple[Fix, ...]) -> dict[str, Any]:
    decision = explained.decision
    missing = decision.missing
    return {
        "allowed": decision.allowed,
        "action": body.action,
        "resource": body.resource,
        "model": decision.model,
        "revision": decision.revision,
        "because": [_path(services, each) for each in decision.paths],
        "missing": {"code": missing.code, "roles": missing.roles} if missing else None,
        "fixes": [{"assignments": [_needed(services, each) for each in fix.assignments]} for fix in fixes],
    }


def _needed(services: Services, needed: Needed) -> dict[str, Any]:
    return {
        "role": needed.role,
        "resource": written(services, needed.resource),
        "approvers": [services.directory.name(each) for each in needed.approvers],
    }


def _path(services: Services, path: Path) -> dict[str, Any]:
    return {
        "role": path.role,
        "subject": services.directory.name(path.subject),
        "assigned": path.assigned_role,
        "on": written(services, path.assigned_on),
        "weakest": written(services, path.weakest) if path.weakest else None,
    }
