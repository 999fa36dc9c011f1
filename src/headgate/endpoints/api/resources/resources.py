"""The resource tree that the caller may see: resources of every type that the access models have."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, Field

from headgate.control.approvals.change_payload import command_from_payload
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.control.resources.document_kinds import DESCRIPTION
from headgate.control.resources.documents import DOCUMENTED, ChangeDocument, SetDescription
from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.endpoints.common.cluster_checks import require_configured
from headgate.endpoints.common.context import CurrentApp, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import full_name
from headgate.endpoints.common.paging import CurrentPaging, Paging, page_of_rows
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.resource_changes import (
    AttributesBody,
    Edges,
    Prose,
    ResourcePatch,
    parse_proposal,
    relations_from,
)
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, Document, StrictSchema, Title, page_model
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.changes import Edge
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_SETTINGS, Resource

router = ApiRouter(tags=["resources"])

_ELSEWHERE = ("organization", "group", "service_principal", "token", "access", "change_request")
"""Types with lists of their own, because they are more than resources."""


class ResourceSummary(BaseModel):
    """A resource in a list, with its full name."""

    id: str
    type: str
    name: str
    parent: str


class RelationEdge(BaseModel):
    """One target of a relation; `name` is its full name, null if the target is hidden from the caller or deleted."""

    to: str
    name: str | None
    enabled: bool
    stream: str


class ResourceDetails(ResourceSummary):
    """A resource: its relations, attributes, settings and version, and the actions on it that the caller may do."""

    relations: dict[str, list[RelationEdge]]
    attributes: dict[str, list[str]]
    settings: dict[str, str]
    actions: list[str]
    version: str
    revision: int


class ResourceCreate(StrictSchema):
    """A new resource below a parent. The parent and the targets of relations are ids or full names."""

    type: Called
    parent: Called
    name: Title
    relations: Edges = Field(default_factory=dict)
    attributes: AttributesBody = Field(default_factory=dict)


class ResourceDescription(StrictSchema):
    """A description as text; empty if there is none."""

    text: Prose = ""


class ResourceDocument(BaseModel):
    """The document of a resource."""

    document: dict[str, Any]


Filter = Annotated[Called | None, Query()]


@router.get("/resources", response_model=page_model(ResourceSummary), **document_actions(DISCOVER))
def list_resources(
    moment: RequestedEvaluation, pages: CurrentPaging, type: Filter = None, parent: Filter = None, name: Filter = None
) -> dict[str, Any]:
    """List the resources that the caller may see. Filter them by type, by parent or by full name."""
    above = moment.resource(parent).id if parent is not None else None
    found = (
        each
        for each in moment.facts.resources.values()
        if each.type not in _ELSEWHERE and type in (None, each.type) and above in (None, each.parent)
    )
    named = (each for each in found if name in (None, full_name(moment.facts, each.id)))
    return build_resource_page(moment, named, pages)


@router.post(
    "/resources",
    status_code=201,
    **DONE,
    **document_actions("{parent}.create_{type}"),
)
def create_resource(
    body: ResourceCreate, deployed: CurrentApp, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Create a resource of any type that the access model allows below the parent."""
    if body.type == "connection":
        raise ProblemError(
            422,
            "invalid",
            "a connection needs a target, which `/resources` does not take; use `POST /api/v1/connections`",
        )
    command = build_creation(moment, body)
    name = full_name(moment.facts, command.parent, body.name)
    if body.type != "cluster":
        return write.execute(command, of=command.resource, id=command.resource, name=name)
    decided = write.decide(command, of=command.resource, id=command.resource, name=name)
    require_configured(deployed.clusters, body.attributes)
    return decided.finish()


@router.get("/resources/{resource}", response_model=ResourceDetails, **document_actions(DISCOVER))
def get_resource(
    resource: Called, organization: CurrentOrganization, moment: RequestedEvaluation, response: Response
) -> dict[str, Any]:
    """Get a resource, with the actions on it that the caller may do."""
    found = moment.resource(resource)
    shown = set_etag(response, organization, moment.facts, found.id)
    return {
        **line(moment, found),
        "relations": {name: [_edge(moment, each) for each in ends] for name, ends in found.relations.items()},
        "attributes": found.attributes,
        "settings": dict(moment.facts.settings.get(found.id, NO_SETTINGS)),
        "actions": _list_allowed(moment, found),
        "version": shown,
        "revision": moment.facts.revision,
    }


@router.patch(
    "/resources/{resource}",
    **DONE,
    **document_actions("{type}.edit", "{type}.alter", "{type}.delete", "{type}.drop", "{parent}.create_{type}"),
)
def update_resource(
    resource: Called, body: ResourcePatch, deployed: CurrentApp, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Change one property of a resource: its name, its parent, some relations, or some attributes."""
    found = moment.resource(resource)
    command = command_from_payload(found, parse_proposal(moment, body))
    if found.type != "cluster":
        return write.execute(command, of=found.id, id=found.id)
    decided = write.decide(command, of=found.id, id=found.id)
    require_configured(deployed.clusters, body.attributes)
    return decided.finish()


@router.delete("/resources/{resource}", **DONE, **document_actions("{type}.delete", "{type}.drop"))
def delete_resource(resource: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Delete a resource and everything below it. Tables are deleted with `DROP TABLE`, which also deletes their data."""
    found = moment.resource(resource)
    return write.execute(DeleteResource(found.id), of=found.id, id=found.id)


@router.get("/resources/{resource}/children", response_model=page_model(ResourceSummary), **document_actions(DISCOVER))
def list_resource_children(resource: Called, moment: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
    """List the children of a resource that the caller may see."""
    above = moment.resource(resource).id
    below = moment.facts.children.get(above, {}).values()
    return build_resource_page(moment, (moment.facts.resources[id] for id in below), pages)


@router.get(
    "/resources/{resource}/description", response_model=ResourceDescription, **document_actions("{type}.describe")
)
def get_resource_description(
    resource: Called, organization: CurrentOrganization, moment: CurrentEvaluation
) -> dict[str, Any]:
    """Get the description of a resource."""
    found = find_readable(organization, moment, resource)
    return {"text": (organization.store.document(DESCRIPTION, found.id) or {}).get("text", "")}


@router.put(
    "/resources/{resource}/description",
    **DONE,
    **document_actions("{type}.change_description", "{type}.edit", "{type}.alter"),
)
def put_resource_description(
    resource: Called, body: ResourceDescription, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Set the description of a resource. An empty text deletes it."""
    found = moment.resource(resource)
    return write.execute(SetDescription(found.id, body.text), of=found.id, id=found.id)


@router.get("/resources/{resource}/document", response_model=ResourceDocument, **document_actions("{type}.describe"))
def get_resource_document(
    resource: Called, organization: CurrentOrganization, moment: CurrentEvaluation
) -> dict[str, Any]:
    """Get the document of a contract, a definition, a policy or a similar resource; empty if none was written."""
    found = find_readable(organization, moment, resource)
    if found.type not in DOCUMENTED:
        raise ProblemError(
            422,
            "invalid",
            f"a `{found.type}` has no document; resources of these types have one: {', '.join(DOCUMENTED)}",
        )
    return {"document": organization.store.document(found.type, found.id) or {}}


@router.put("/resources/{resource}/document", **DONE, **document_actions("{type}.edit", "{type}.alter"))
def put_resource_document(resource: Called, body: Document, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Replace the document of a contract, a definition, a policy or a similar resource. It can be any JSON object."""
    found = moment.resource(resource)
    return write.execute(ChangeDocument(found.id, body), of=found.id, id=found.id)


def build_creation(moment: Evaluation, body: ResourceCreate) -> CreateResource:
    """Return the command that creates the resource in a body. Raises `NotFoundError` for a name that the caller may not see."""
    return CreateResource(
        ResourceId(new_id("r")),
        body.type,
        moment.resource(body.parent).id,
        body.name,
        relations_from(moment, body.relations),
        {key: tuple(words) for key, words in body.attributes.items()},
    )


def build_resource_page(moment: Evaluation, found: Iterable[Resource], pages: Paging) -> dict[str, Any]:
    """Return a page of the resources, without those that the caller may not see."""
    lines = (line(moment, each) for each in found if moment.sees(each.id))
    return page_of_rows(lines, pages, ("name", "type"), moment.facts.revision)


def line(moment: Evaluation, found: Resource) -> dict[str, Any]:
    """Return a resource as a row of a list."""
    return {"id": found.id, "type": found.type, "name": full_name(moment.facts, found.id), "parent": found.parent}


def find_readable(organization: Organization, moment: Evaluation, name: str) -> Resource:
    """Return a resource whose documents the caller may read now.

    Raises `NotFoundError` if it is missing or hidden, and `PermissionDeniedError` if the caller may see but not describe it.
    """
    found = moment.resource(name)
    model = model_for(moment.answers.models, moment.facts, found.type, found.id)
    if model is not None and model.has_action(f"{found.type}.describe"):
        organization.control.require(Question(moment.caller, f"{found.type}.describe", found.id))
    return found


def _edge(moment: Evaluation, edge: Edge) -> dict[str, Any]:
    there = edge.target in moment.facts.resources and moment.sees(edge.target)
    name = full_name(moment.facts, edge.target) if there else None
    return {"to": edge.target, "name": name, "enabled": edge.enabled, "stream": edge.name}


def _list_allowed(moment: Evaluation, found: Resource) -> list[str]:
    model = model_for(moment.answers.models, moment.facts, found.type, found.id)
    actions = model.actions_on(found.type) if model else ()
    asked = [Question(moment.caller, action, found.id) for action in actions]
    return [each.question.action for each in moment.answers.check_many(asked, moment.now) if each.allowed]
