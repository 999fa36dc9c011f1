"""Users, service principals and groups by their ids or names, as far as the caller may know of them."""

from collections.abc import Callable
from typing import Literal

from headgate.control.access import visibility
from headgate.control.access.visibility import is_resource_only, may_see_subject, visible_subjects
from headgate.control.kernel.errors import AlreadyExistsError, NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.endpoints.common.lookup import find_resource
from headgate.endpoints.common.writes import Write
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId

Kind = Literal["user", "service_principal"]


def find_principal(organization: Organization, caller: Caller, name: str, kind: Kind | None = None) -> PrincipalId:
    """Return the principal that the caller may know of; hidden and missing are the same error."""
    found = PrincipalId(_require_visible(organization, caller, name))
    there = organization.control.snapshot.principals.get(found)
    if there is None or kind not in (None, there.kind):
        raise _build_missing_error(organization, name)
    return found


def group_of_name(organization: Organization, caller: Caller, name: str) -> GroupId:
    """Return the group that the caller may know of; hidden and missing are the same error."""
    found = GroupId(_require_visible(organization, caller, name))
    if found not in organization.control.snapshot.groups:
        raise _build_missing_error(organization, name)
    return found


def resolve_subject(organization: Organization, asked: Question, name: str) -> SubjectId:
    """Return whom a name means to somebody who may do what is asked for that one; see `headgate.control.access.visibility`.

    A team or domain is one too, where the caller may see it.
    """
    found: SubjectId | None = organization.directory.find(name)
    if found is None:
        try:
            found = find_resource(organization, asked.caller, name)
        except NotFoundError:
            found = None
    return visibility.resolve_subject_for(organization.control.view(asked.caller), asked, found, name)


def require_free(write: Write, name: str, own: str | None = None) -> None:
    """Raise `AlreadyExistsError` if a principal or group is called so, other than the one of the id `own`.

    Asked after the command was allowed, as it tells who is here. A dry run tells only of those that the caller may know
    of; see `CommandContext.free_name`.
    """
    organization = write.organization
    taken = organization.directory.find_similar(name) - {own}
    if not taken:
        return
    known = visible_subjects(organization.control.answers, write.caller, organization.control.now)
    is_hidden = not any(known(PrincipalId(each)) for each in taken)
    if not (is_hidden and write.dry_run):
        text = f"there is a `{name}` already, or a name so alike that readers would mix them up"
        raise AlreadyExistsError(text, is_hidden=is_hidden)


def visibility_filter(moment: Evaluation) -> Callable[[SubjectId], bool]:
    """Return what says of whom a list tells."""
    return visible_subjects(moment.answers, moment.caller, moment.now)


def display_name_for(organization: Organization, moment: Evaluation) -> Callable[..., str]:
    """Return what names a subject to the caller; whom they may not know of is told by the id alone.

    `asking` is who filed what is told of: that makes them known to whoever may see it.
    """
    known = visibility_filter(moment)

    def name(subject: SubjectId, asking: SubjectId | None = None) -> str:
        if is_resource_only(moment.facts, subject):
            return moment.name(ResourceId(subject))
        return organization.directory.name(subject) if subject == asking or known(subject) else subject

    return name


def _require_visible(organization: Organization, caller: Caller, name: str) -> str:
    found = organization.directory.find(name)
    if found is None or not may_see_subject(organization.control.answers, caller, found, organization.control.now):
        raise _build_missing_error(organization, name)
    return ResourceId(found)


def _build_missing_error(organization: Organization, name: str) -> NotFoundError:
    return NotFoundError(organization.wording.hidden((name,)))
