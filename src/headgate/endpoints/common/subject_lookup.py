"""Name resolution of users, service principals and groups: by id or name, if the caller may know of them."""

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
    """Return the principal of this id or name. A hidden and a missing principal raise the same `NotFoundError`."""
    found = PrincipalId(_require_visible(organization, caller, name))
    there = organization.control.snapshot.principals.get(found)
    if there is None or kind not in (None, there.kind):
        raise _build_missing_error(organization, name)
    return found


def group_of_name(organization: Organization, caller: Caller, name: str) -> GroupId:
    """Return the group of this id or name. A hidden and a missing group raise the same `NotFoundError`."""
    found = GroupId(_require_visible(organization, caller, name))
    if found not in organization.control.snapshot.groups:
        raise _build_missing_error(organization, name)
    return found


def resolve_subject(organization: Organization, asked: Question, name: str) -> SubjectId:
    """Return the subject of this id or name, if the caller may perform the question for that subject.

    The subject may also be a team or domain that the caller may see. For the rules and errors, see
    `headgate.control.access.visibility`.
    """
    found: SubjectId | None = organization.directory.find(name)
    if found is None:
        try:
            found = find_resource(organization, asked.caller, name)
        except NotFoundError:
            found = None
    return visibility.resolve_subject_for(organization.control.view(asked.caller), asked, found, name)


def require_free(write: Write, name: str, own: str | None = None) -> None:
    """Raise `AlreadyExistsError` if a principal or group other than `own` (an id) has this or a confusable name.

    Call it after the command was allowed, because the error reveals that a name exists. A dry run raises it only for
    names that the caller may know of; see `CommandContext.free_name`.
    """
    organization = write.organization
    taken = organization.directory.find_similar(name) - {own}
    if not taken:
        return
    known = visible_subjects(organization.control.answers, write.caller, organization.control.now)
    is_hidden = not any(known(PrincipalId(each)) for each in taken)
    if not (is_hidden and write.dry_run):
        text = f"the name `{name}` is taken, or looks too much like a name that is taken; choose another name"
        raise AlreadyExistsError(text, is_hidden=is_hidden)


def visibility_filter(moment: Evaluation) -> Callable[[SubjectId], bool]:
    """Return the predicate for the subjects that a list shows to the caller."""
    return visible_subjects(moment.answers, moment.caller, moment.now)


def display_name_for(organization: Organization, moment: Evaluation) -> Callable[..., str]:
    """Return a function from a subject to its name for the caller, or to its id if the caller may not know of the subject.

    `asking` is the author of the record that is shown: every caller that may see the record may know its author's name.
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
