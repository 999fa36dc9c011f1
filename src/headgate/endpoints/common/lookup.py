"""Resources by their ids, or by the names that people write: `organization`, a full lake name, the name of a pipeline."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator

from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.control.resources.implicit import implicit_children
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_NAMES, Resource, Snapshot

ORGANIZATION_NAME = "organization"
LAKE = "lake"
"""The lake that a home model has implicitly is called as its type is."""


def _writable(text: str) -> str:
    text.encode()
    return text


Text = Annotated[str, AfterValidator(_writable)]
"""Text that can be written down: JSON can also spell halves of characters, which no file, store or answer takes."""


def find_resource(organization: Organization, caller: Caller, name: str) -> ResourceId:
    """Return the resource that the caller may see under this id or name; hidden and missing are the same error."""
    control = organization.control
    found = resolve_visible(control.answers, caller, control.now, name)
    if found is None:
        raise NotFoundError(organization.wording.hidden((name,)))
    return found


def resolve_visible(answers: Answers, caller: Caller, now: float, name: str) -> ResourceId | None:
    """Return what the caller may see under this id or name; None for what is hidden or missing."""
    facts = answers.facts
    if name == ORGANIZATION_NAME and facts.organization is not None:
        return facts.organization
    return next((each for each in list_candidates(facts, name) if _is_visible(answers, caller, now, each)), None)


def _is_visible(answers: Answers, caller: Caller, now: float, id: ResourceId) -> bool:
    """Say whether the caller may know of it; of what a model always puts there, whoever knows what it lies under."""
    facts = answers.facts
    found = facts.resources[id]
    if found.parent == id or answers.is_discoverable(caller, id, now):
        return True
    model = model_for(answers.models, facts, found.type, id)
    return model is not None and model.types[found.type].implicit and _is_visible(answers, caller, now, found.parent)


def list_candidates(facts: Snapshot, name: str) -> Iterator[ResourceId]:
    """Yield what goes by this id or full name: from a project downwards, or from the organization."""
    if ResourceId(name) in facts.resources:
        yield ResourceId(name)
    root, parts = facts.organization, name.split(".")
    if root is not None:
        inside = facts.children.get(root, NO_NAMES).values()
        projects = (child for child in inside if facts.resources[child].type == "project")
        yield from (found for top in (*projects, root) if (found := _below(facts, top, parts)) is not None)


def _below(facts: Snapshot, top: ResourceId, parts: Sequence[str]) -> ResourceId | None:
    current: ResourceId | None = top
    for part in parts:
        current = facts.children.get(current, NO_NAMES).get(part) if current is not None else None
    return current


def require_on_organization(organization: Organization, caller: Caller, action: str) -> None:
    """Raise `PermissionDeniedError` unless the caller may do this on the organization.

    Asked before a person or group is looked up: who is here is not for everybody.
    """
    root = organization.control.snapshot.organization
    if root is None:
        raise NotFoundError("there is no organization yet")
    organization.control.require(Question(caller, action, root))


def resource_display_name(organization: Organization, id: ResourceId) -> str:
    """Return the name that people write for a resource."""
    return full_name(organization.control.snapshot, id)


def visible_display_name(organization: Organization, caller: Caller, id: ResourceId) -> str:
    """Return the name of a resource if the caller may see it now, else its id: the name may be newer than the caller's access."""
    control = organization.control
    is_known = id == control.snapshot.organization or control.is_visible(caller, id)
    return resource_display_name(organization, id) if is_known else id


def full_name(facts: Snapshot, id: ResourceId, *below: str) -> str:
    """Return the name that people write for a resource, or for what lies below it under these names."""
    if id == facts.organization or (below and facts.resources[id].type == "project"):
        return ".".join(below) or ORGANIZATION_NAME
    return ".".join((*facts.full_name(id), *below))


def default_project(organization: Organization) -> ResourceId:
    """Return the project that the home model has implicitly: what is made without naming one lies there."""
    root = organization.control.snapshot.organization
    found = implicit_children(organization.control.model, root, ORGANIZATION_NAME) if root else ()
    for each in found:
        if each.type == "project":
            return each.resource
    raise NotFoundError("name a project: this organization's model has none by itself")


def find_visible(organization: Organization, caller: Caller, name: str, *types: str) -> Resource:
    """Return the resource of one of these types that the caller may see; hidden and missing are the same error."""
    control = organization.control
    for id in list_candidates(control.snapshot, name):
        found = control.snapshot.resources[id]
        if found.type in types and control.is_visible(caller, id):
            return found
    raise NotFoundError(organization.wording.hidden((name,)))
