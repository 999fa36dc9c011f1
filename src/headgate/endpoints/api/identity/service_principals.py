"""Service principals: identities of programs. Their secrets are tokens."""

from typing import Annotated, Any

from fastapi import Response
from pydantic import BaseModel, Field

from headgate.control.identity.principals import (
    CreateServicePrincipal,
    DeleteServicePrincipal,
    ExpirePrincipal,
    RenameServicePrincipal,
)
from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.endpoints.api.identity.me import HeldRole, list_held_roles
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import find_resource
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, Title, page_model
from headgate.endpoints.common.subject_lookup import find_principal, require_free, visibility_filter
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

router = ApiRouter(tags=["service principals"])

_SERVICE = "service_principal"


class ServicePrincipalSummary(BaseModel):
    """A service principal, which expires at `ends` (seconds since the epoch; null = never)."""

    id: str
    name: str
    ends: float | None


class ServicePrincipal(ServicePrincipalSummary):
    """A service principal, with its groups and its roles on the resources that the caller may see."""

    held: list[HeldRole]
    groups: list[str]
    version: str


class ServicePrincipalCreate(StrictSchema):
    """A new service principal, with a role, or with the roles of a `scope` of the access model.

    `place` is the organization or the team that it belongs to; the organization if omitted.
    """

    name: Title
    role: Annotated[Called, Field(max_length=100)] | None = None
    scope: Annotated[Called, Field(max_length=100)] | None = None
    place: Called | None = None


class ServicePrincipalPatch(StrictSchema):
    """Changes of a service principal; omitted fields stay unchanged. With `ends` null it never expires."""

    name: Title | None = None
    ends: Time | None = None


@router.get("/service-principals", response_model=page_model(ServicePrincipalSummary), **document_actions(DISCOVER))
def list_service_principals(
    organization: CurrentOrganization, asking: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List the service principals that the caller may know of."""
    facts, seen = asking.facts, visibility_filter(asking)
    rows = (
        _row(organization, facts, id) for id, each in facts.principals.items() if each.kind == _SERVICE and seen(id)
    )
    return page_of_rows(rows, pages, ("name", "id", "ends"), facts.revision)


@router.post(
    "/service-principals",
    status_code=201,
    **DONE,
    **document_actions("{type}.create_service_principal", "assignment.add"),
)
def create_service_principal(
    body: ServicePrincipalCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Create a service principal."""
    id = PrincipalId(new_id("p"))
    place = find_resource(organization, caller, body.place) if body.place else None
    command = CreateServicePrincipal(id, body.name, body.role, body.scope, place)
    decided = write.decide(command, ResourceId(id), id=id, name=body.name)
    require_free(write, body.name)
    return decided.finish()


@router.get("/service-principals/{service_principal}", response_model=ServicePrincipal, **document_actions(DISCOVER))
def get_service_principal(
    service_principal: str, organization: CurrentOrganization, caller: CurrentCaller, response: Response
) -> dict[str, Any]:
    """Get a service principal."""
    id, facts = find_principal(organization, caller, service_principal, _SERVICE), organization.control.snapshot
    found = set_etag(response, organization, facts, ResourceId(id))
    groups = sorted(organization.directory.name(each) for each in facts.groups_of(id))
    return {
        **_row(organization, facts, id),
        "held": list_held_roles(organization, caller, id),
        "groups": groups,
        "version": found,
    }


@router.patch(
    "/service-principals/{service_principal}",
    **DONE,
    **document_actions("service_principal.edit", "organization.manage_users", "assignment.remove"),
)
def update_service_principal(
    service_principal: str,
    body: ServicePrincipalPatch,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Rename a service principal, or change its expiry."""
    id = find_principal(organization, caller, service_principal, _SERVICE)
    commands: list[Command] = []
    if body.name is not None:
        commands.append(RenameServicePrincipal(id, body.name))
    if "ends" in body.model_fields_set:
        commands.append(ExpirePrincipal(id, body.ends))
    command = Batch(tuple(commands), "service_principal.change")
    if body.name is None:
        return write.execute(command, ResourceId(id), id=id)
    decided = write.decide(command, ResourceId(id), id=id)
    require_free(write, body.name, id)
    return decided.finish()


@router.delete(
    "/service-principals/{service_principal}",
    **DONE,
    **document_actions("service_principal.delete", "organization.manage_users", "assignment.remove"),
)
def delete_service_principal(
    service_principal: str, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a service principal, its tokens and its role assignments."""
    id = find_principal(organization, caller, service_principal, _SERVICE)
    return write.execute(DeleteServicePrincipal(id), ResourceId(id), id=id)


def _row(organization: Organization, facts: Snapshot, id: PrincipalId) -> dict[str, Any]:
    return {"id": id, "name": organization.directory.name(id), "ends": facts.principals[id].ends}
