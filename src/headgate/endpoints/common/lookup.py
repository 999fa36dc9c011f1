"""Name resolution: resources by their ids, or by names such as `organization`, a full lake name or a pipeline's name."""

from typing import Annotated

from pydantic import AfterValidator

from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.resource_names import ORGANIZATION_NAME, list_candidates
from headgate.control.resources.implicit import implicit_children
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot

LAKE = "lake"
"""The name of the lake that a home model has implicitly: the same word as its type."""


def _writable(text: str) -> str:
    text.encode()
    return text


Text = Annotated[str, AfterValidator(_writable)]
"""Text that can be encoded as UTF-8. JSON can also contain lone surrogates, which no file, store or response accepts."""


def find_resource(organization: Organization, caller: Caller, name: str) -> ResourceId:
    """Return the resource of this id or name. A hidden and a missing resource raise the same `NotFoundError`."""
    control = organization.control
    found = resolve_visible(control.answers, caller, control.now, name)
    if found is None:
        raise NotFoundError(organization.wording.hidden((name,)))
    return found


def resolve_visible(answers: Answers, caller: Caller, now: float, name: str) -> ResourceId | None:
    """Return the resource of this id or name that the caller may see, or None if it is hidden or missing."""
    return next(
        (each for each in list_candidates(answers.facts, name) if _is_visible(answers, caller, now, each)), None
    )


def _is_visible(answers: Answers, caller: Caller, now: float, id: ResourceId) -> bool:
    """Return whether the caller may know of a resource.

    A resource that its access model creates implicitly is visible to every caller that may see its parent.
    """
    facts = answers.facts
    found = facts.resources[id]
    if found.parent == id or answers.is_discoverable(caller, id, now):
        return True
    model = model_for(answers.models, facts, found.type, id)
    return model is not None and model.types[found.type].implicit and _is_visible(answers, caller, now, found.parent)


def require_on_organization(organization: Organization, caller: Caller, action: str) -> None:
    """Raise `PermissionDeniedError` unless the caller may do an action on the organization.

    Call it before a user or group is looked up: the names of users and groups are not visible to every caller.
    """
    root = organization.control.snapshot.organization
    if root is None:
        raise NotFoundError(
            "the organization has not been created yet; ask the operator of this deployment to create it "
            "with `headgate organization create`"
        )
    organization.control.require(Question(caller, action, root))


def resource_display_name(organization: Organization, id: ResourceId) -> str:
    """Return the full name of a resource, without a check of visibility."""
    return full_name(organization.control.snapshot, id)


def visible_display_name(organization: Organization, caller: Caller, id: ResourceId) -> str:
    """Return the name of a resource if the caller may see it now, else its id: the name may be newer than the access."""
    control = organization.control
    is_known = id == control.snapshot.organization or control.is_visible(caller, id)
    return resource_display_name(organization, id) if is_known else id


def full_name(facts: Snapshot, id: ResourceId, *below: str) -> str:
    """Return the full name of a resource, or of the descendant that the names in `below` lead to."""
    if id == facts.organization or (below and facts.resources[id].type == "project"):
        return ".".join(below) or ORGANIZATION_NAME
    return ".".join((*facts.full_name(id), *below))


def default_project(organization: Organization) -> ResourceId:
    """Return the implicit project of the home model, in which a resource is created if the request names no project.

    Raises `NotFoundError` if the home model has none.
    """
    root = organization.control.snapshot.organization
    found = implicit_children(organization.control.model, root, ORGANIZATION_NAME) if root else ()
    for each in found:
        if each.type == "project":
            return each.resource
    raise NotFoundError(
        "the request names no project, and the organization has no default project; name one in `project`"
    )


def find_visible(organization: Organization, caller: Caller, name: str, *types: str) -> Resource:
    """Return the resource of this name and one of these types. A hidden and a missing one raise the same `NotFoundError`."""
    control = organization.control
    for id in list_candidates(control.snapshot, name):
        found = control.snapshot.resources[id]
        if found.type in types and control.is_visible(caller, id):
            return found
    raise NotFoundError(organization.wording.hidden((name,)))
