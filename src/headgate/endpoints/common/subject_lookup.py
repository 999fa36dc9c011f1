"""Name resolution of users, service principals and groups: by id or name, if the caller may know of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from headgate.control.access.subject_resolution import resolve_subject_for
from headgate.control.access.visibility import is_resource_only, may_see_subject, visible_subjects
from headgate.control.kernel.errors import AlreadyExistsError, NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.resource_names import list_candidates
from headgate.decision.reference import ASSIGNING
from headgate.decision.types import Question
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.endpoints.common.lookup import find_resource, resolve_visible
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

    The subject may also be a team or another resource. For the rules and errors, see `headgate.control.access.subject_resolution`.
    """
    found = find_subject(organization, asked, name)
    return resolve_subject_for(organization.control.view(asked.caller), asked, found, name)


def find_subject(organization: Organization, asked: Question, name: str) -> SubjectId | None:
    """Return the principal, group or resource of this id or name; None if there is none.

    A resource is found if the caller may see it, or if its id is named and the caller may perform the question, about an
    assignment, for it unseen.
    """
    control = organization.control
    named = organization.directory.find(name)
    if named is not None:
        return named
    visible = resolve_visible(control.answers, asked.caller, control.now, name)
    id = ResourceId(name)
    if visible is not None or asked.action not in ASSIGNING or id not in control.snapshot.resources:
        return visible
    return id if control.answers.check(replace(asked, subject=id), control.now).allowed else None


def resolve_assignment(organization: Organization, named: Question, subject: str) -> tuple[ResourceId, SubjectId]:
    """Return the resource and the subject of a question about an assignment, which names them.

    The caller must be allowed to see the resource, or to perform the question on it: some models let a user assign roles
    on resources that the user cannot see. Raises `NotFoundError` otherwise.
    """
    permitted = _find_permitted(organization, named, subject)
    if permitted is not None:
        return permitted
    place = find_resource(organization, named.caller, named.resource)
    return place, resolve_subject(organization, replace(named, resource=place), subject)


def _find_permitted(organization: Organization, named: Question, subject: str) -> tuple[ResourceId, SubjectId] | None:
    """Return the first resource of the name on which the caller may perform the question for the subject, and the subject."""
    control = organization.control
    for id in list_candidates(control.snapshot, named.resource):
        asked = replace(named, resource=id)
        found = find_subject(organization, asked, subject)
        if found is not None and control.answers.check(replace(asked, subject=found), control.now).allowed:
            return id, found
    return None


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
