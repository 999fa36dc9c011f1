"""Access requests, and the assignments that approve them.

Every user may request access to any name; hidden, missing and visible resources are treated alike. A request is shown to
the users who could make one of the smallest assignments that would allow it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headgate.control.access.single_holders import is_single
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.operations import AssignmentWords, OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.vocabulary import describe_unknown_action
from headgate.decision.explain.explain import smallest_fixes
from headgate.decision.types import Fix, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import RequestDecided, RequestFiled, RoleAssigned
from headgate.facts.ids import PrincipalId, RequestId, ResourceId
from headgate.facts.snapshot import AccessRequest, Snapshot

_OPEN = "requested"
_MOST_OPEN = 100
"""The most open requests of one author: each list of requests finds the fixes of all open ones."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """File a request of the caller for an action on a name; `resource` is None if no resource has the name."""

    request: RequestId
    action: str
    resource: ResourceId | None
    title: str
    purpose: str
    name: str = "request.file"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Any caller may, with a purpose, for a known action that is not allowed to the caller already."""
        if view.caller is None or view.caller.run is not None:
            raise InvalidError(
                "a run cannot request access; send the request with a token of a user or a service principal"
            )
        # Checked first: "already allowed" would be decided for the principal, not for the token.
        if is_narrowed(view.facts, view.caller):
            raise InvalidError(
                "a token that is limited to some resources or actions cannot request access; use a token "
                "without that limit"
            )
        if not self.purpose.strip():
            raise InvalidError("the purpose of the access request is empty; give it in `purpose`")
        unknown = describe_unknown_action(self.action, view.models.values())
        if unknown:
            raise InvalidError(unknown)
        view.free_id(self.request)
        _require_few(view.facts, view.caller.principal)
        asked = AccessRequest(view.caller.principal, self.action, self.resource, _OPEN)
        if _is_allowed(view, asked):
            raise InvalidError(
                f"the action `{self.action}` on the resource is already allowed to you; no request is needed"
            )
        document = DocumentPut("request", self.request, {"name": self.title, "purpose": self.purpose})
        return CommandEffect((RequestFiled(self.request, asked.author, asked.action, asked.resource),), (document,))


@dataclass(frozen=True, slots=True)
class ApproveRequest:
    """Approve a request: assign the missing roles until `ends` (seconds since the epoch; None = no end), for its reason.

    If other users have to assign roles too, the request stays open for them.
    """

    request: RequestId
    ends: float | None = None
    name: str = "request.approve"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to make one of the smallest assignments that would allow it."""
        asked, missing = _for_the_caller(view, self.request)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the end of the assignment is in the past; choose a later end")
        changes = tuple(replace(each, ends=self.ends) for each in missing)
        current = view
        for each in changes:
            place = OperationPlace(current.target(each.resource), about=AssignmentWords(each.role, each.subject))
            current.require_operation("role.assign", {"resource": place})
            current = current.with_changes(each)
        decided = (RequestDecided(self.request, "approved"),) if _is_allowed(current, asked) else ()
        return CommandEffect((*changes, *decided))


@dataclass(frozen=True, slots=True)
class RejectRequest:
    """Reject a request, or withdraw a request of the caller."""

    request: RequestId
    name: str = "request.reject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to make one of the smallest assignments that would allow it, or a request of the caller."""
        if not _is_own(view, self.request):
            _for_the_caller(view, self.request)
        return CommandEffect((RequestDecided(self.request, "rejected"),))


def open_requests(view: CommandContext) -> Iterator[RequestId]:
    """Yield the requests that the caller could approve, at least in part."""
    is_fixable = dict[AccessRequest, bool]()
    for id, asked in view.facts.requests.items():
        if asked.state == _OPEN and asked not in is_fixable:
            is_fixable[asked] = bool(_find_assignable_fix(view, id, asked))
        if is_fixable.get(asked):
            yield id


def _require_few(facts: Snapshot, author: PrincipalId) -> None:
    held = sum(each.author == author and each.state == _OPEN for each in facts.requests.values())
    if held >= _MOST_OPEN:
        raise InvalidError(
            f"you have {_MOST_OPEN} open access requests, which is the limit; withdraw one with `headgate request reject`, "
            "or wait until one is approved or rejected"
        )


def _is_own(view: CommandContext, request: RequestId) -> bool:
    """Whether the request is an open one of the caller itself, neither of a run nor of a token that is limited."""
    asked, caller = view.facts.requests.get(request), view.caller
    if asked is None or asked.state != _OPEN or caller is None or asked.author != caller.principal:
        return False
    return caller.run is None and not is_narrowed(view.facts, caller)


def _for_the_caller(view: CommandContext, request: RequestId) -> tuple[AccessRequest, tuple[RoleAssigned, ...]]:
    """Return a request and the assignments that the caller could make for it.

    Raises `NotFoundError` alike for a missing request and for one that the caller cannot approve, and `InvalidError` for
    one that the caller created and cannot approve.
    """
    asked = view.facts.requests.get(request)
    missing = _find_assignable_fix(view, request, asked) if asked and asked.state == _OPEN else ()
    if not missing and _is_own(view, request):
        raise InvalidError(
            f"you created the request `{request}`, and only another user may approve it; wait, or withdraw it with "
            "`headgate request reject`"
        )
    if asked is None or not missing:
        raise NotFoundError(
            f"there is no open request `{request}` that you may approve or reject; `headgate request list` "
            "shows the requests"
        )
    return asked, missing


def _find_assignable_fix(view: CommandContext, request: RequestId, asked: AccessRequest) -> tuple[RoleAssigned, ...]:
    """Return the assignments that the caller could make now, of the first smallest fix that has any such assignment.

    Only assignments to the author count: a request does not give others access, and does not change groups.
    """
    question = _question(asked)
    fixes = smallest_fixes(view.models, view.facts, question, view.now, view.engine) if question else ()
    own = (fix for fix in fixes if not fix.memberships and _is_only_for(asked.author, fix))
    found = (tuple(_assignable(view, request, fix)) for fix in own)
    return next((each for each in found if each), ())


def _is_only_for(author: PrincipalId, fix: Fix) -> bool:
    return all((each.subject or fix.subject) == author for each in fix.assignments)


def _assignable(view: CommandContext, request: RequestId, fix: Fix) -> Iterator[RoleAssigned]:
    for needed in fix.assignments:
        place = view.target(needed.resource)
        model = view.model_for(place.type, place.id)
        given = RoleAssigned(fix.subject, needed.role, place.id, model.name, view.actor, reason=request)
        # An approval takes no role from its single holder.
        if not is_single(model, needed.role) and _may_assign(view, given):
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
