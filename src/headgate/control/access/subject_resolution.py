"""Resolution of the subject that a request about an assignment names, without revealing which subjects exist."""

from dataclasses import replace

from headgate.control.access.visibility import is_resource_only
from headgate.control.kernel.command import CommandContext, resolve_role_model
from headgate.control.kernel.errors import NotFoundError
from headgate.decision.types import Question
from headgate.facts.changes import PrincipalAdded, RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId

HYPOTHETICAL_USER = PrincipalId("?")
"""A hypothetical user: a refusal is decided for this user, so that it reveals nothing about the named one."""


def resolve_subject_for(view: CommandContext, asked: Question, found: SubjectId | None, name: str) -> SubjectId:
    """Return the subject that `name` resolved to, if the caller may perform the question for it.

    `found` is None if the name matches no subject or several. A caller that may not perform the question for any subject
    on the resource is refused, whatever the name is: the check then runs for a hypothetical user. Any other caller gets
    `NotFoundError` if `found` is None. A resource, such as a team, is found only if the caller may see it or perform the
    question for it, so the command decides about it. Raises `InvalidError` for an unknown role.
    """
    given = asked.new_role or (asked.role if asked.action == "assignment.add" else None)
    if given is not None:
        resolve_role_model(view, given, view.target(asked.resource))
    if found is not None and _may_be_named(view, asked, found):
        return found
    if not _is_for_users(view, asked):
        raise NotFoundError(unknown_name_text(name))
    _with_hypothetical_user(view, asked.resource).require(replace(asked, subject=HYPOTHETICAL_USER))
    if found is None:
        raise NotFoundError(unknown_name_text(name))
    return found


def _may_be_named(view: CommandContext, asked: Question, found: SubjectId) -> bool:
    is_resource = is_resource_only(view.facts, found) and found not in view.facts.groups
    return is_resource or view.engine.check(replace(asked, subject=found), view.now).allowed


def _is_for_users(view: CommandContext, asked: Question) -> bool:
    """Return whether the model lets users hold the role, so that a check for a hypothetical user is meaningful."""
    place, role = view.target(asked.resource), asked.new_role or asked.role
    known = view.model_for(place.type, place.id).roles.get(role or "")
    return known is None or "user" in known.to


def unknown_name_text(name: str) -> str:
    """Return the message about a name that matches no subject, or several."""
    return f"the name `{name}` matches no user, service principal, group or team, or it matches several; use the id instead"


def _with_hypothetical_user(view: CommandContext, place: ResourceId) -> CommandContext:
    """Return the view with a hypothetical user, a member of every parent of the place that requires it, without other roles."""
    above = tuple(view.facts.ancestors(place))
    standing = (
        RoleAssigned(HYPOTHETICAL_USER, min(rule.roles), each.id, model.name)
        for model in view.models.values()
        for rule in model.standing
        for each in above
        if each.type == rule.on
    )
    return view.with_changes(PrincipalAdded(HYPOTHETICAL_USER, "user"), *standing)
