"""Asking to be allowed something, and the assignments that come of it.

Anybody may ask, for any name; what is hidden, what is missing and what is there are asked for alike. A request is for
whoever could make one of the smallest assignments that would allow it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ports import DocumentPut
from headgate.decision.explain.explain import smallest_fixes
from headgate.decision.types import Fix, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import RequestDecided, RequestFiled, RoleAssigned
from headgate.facts.ids import RequestId, ResourceId
from headgate.facts.snapshot import AccessRequest

_OPEN = "requested"


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The caller asks to be allowed an action on what is called so; `resource` is None where there is nothing."""

    request: RequestId
    action: str
    resource: ResourceId | None
    title: str
    purpose: str
    name: str = "request.file"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody may, for a purpose, what they may not do already."""
        if view.caller is None or view.caller.run is not None:
            raise InvalidError("a person or a service principal asks, not the deployment nor a run")
        # Before anything else is looked at: "already allowed" would be decided for the principal, not for the token.
        if is_narrowed(view.facts, view.caller):
            raise InvalidError("a narrowed token files no requests; use a token that is not narrowed")
        if not self.purpose.strip():
            raise InvalidError("access is always for a purpose; say for which")
        view.free_id(self.request)
        asked = AccessRequest(view.caller.principal, self.action, self.resource, _OPEN)
        if _is_allowed(view, asked):
            raise InvalidError("you may do this already")
        document = DocumentPut("request", self.request, {"name": self.title, "purpose": self.purpose})
        return CommandEffect((RequestFiled(self.request, asked.author, asked.action, asked.resource),), (document,))


@dataclass(frozen=True, slots=True)
class ApproveRequest:
    """What is missing is assigned, until `ends` (seconds since the epoch; None = no end), with the request as reason.

    Where others have to assign something too, the request waits for them.
    """

    request: RequestId
    ends: float | None = None
    name: str = "request.approve"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need the right to make one of the smallest assignments that would allow it."""
        asked, missing = _for_the_caller(view, self.request)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the assignment would have ended already")
        changes = tuple(replace(each, ends=self.ends) for each in missing)
        current = view
        for each in changes:
            current.require_action("assignment.add", each.resource, role=each.role, subject=each.subject)
            current = current.with_changes(each)
        decided = (RequestDecided(self.request, "approved"),) if _is_allowed(current, asked) else ()
        return CommandEffect((*changes, *decided))


@dataclass(frozen=True, slots=True)
class RejectRequest:
    """The request comes to nothing."""

    request: RequestId
    name: str = "request.reject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need the right to make one of the smallest assignments that would allow it."""
        _for_the_caller(view, self.request)
        return CommandEffect((RequestDecided(self.request, "rejected"),))


def open_requests(view: CommandContext) -> Iterator[RequestId]:
    """Yield the requests that the caller could approve, at least in part."""
    for id, asked in view.facts.requests.items():
        if asked.state == _OPEN and _find_assignable_fix(view, id, asked):
            yield id


def _for_the_caller(view: CommandContext, request: RequestId) -> tuple[AccessRequest, tuple[RoleAssigned, ...]]:
    """Return a request and what the caller could assign for it. A request for others is as missing."""
    asked = view.facts.requests.get(request)
    missing = _find_assignable_fix(view, request, asked) if asked and asked.state == _OPEN else ()
    if asked is None or not missing:
        raise NotFoundError(f"there is no request `{request}` that waits for you")
    return asked, missing


def _find_assignable_fix(view: CommandContext, request: RequestId, asked: AccessRequest) -> tuple[RoleAssigned, ...]:
    """Return what the caller could assign now of the first of the smallest fixes of which they could assign anything."""
    question = _question(asked)
    fixes = smallest_fixes(view.models, view.facts, question, view.now, view.engine) if question else ()
    found = (tuple(_assignable(view, request, fix)) for fix in fixes)
    return next((each for each in found if each), ())


def _assignable(view: CommandContext, request: RequestId, fix: Fix) -> Iterator[RoleAssigned]:
    for needed in fix.assignments:
        place = view.target(needed.resource)
        model = view.model_for(place.type, place.id).name
        given = RoleAssigned(fix.subject, needed.role, place.id, model, view.actor, reason=request)
        if _may_assign(view, given):
            yield given
            view = view.with_changes(given)


def _may_assign(view: CommandContext, given: RoleAssigned) -> bool:
    if view.caller is None:
        return True
    question = Question(view.caller, "assignment.add", given.resource, role=given.role, subject=given.subject)
    return view.engine.check(question, view.now).allowed


def _is_allowed(view: CommandContext, asked: AccessRequest) -> bool:
    question = _question(asked)
    return question is not None and view.engine.check(question, view.now).allowed


def _question(asked: AccessRequest) -> Question | None:
    return Question(Caller(asked.author), asked.action, asked.resource) if asked.resource else None
