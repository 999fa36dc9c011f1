"""Administration of the deployment: operators list, suspend, resume and remove organizations."""

from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from headgate.control.deployment.organization_list import OrganizationState, describe_organization
from headgate.control.kernel.command import Command
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization import Organizations
from headgate.control.organizations.organization_life import EndOrganization
from headgate.control.organizations.removal import RemoveOrganization, require_removable
from headgate.control.organizations.suspension import ResumeOrganization, SuspendOrganization
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.deployment_callers import ByUser, WritesDeployment
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.endpoints.common.writes import DONE, Decided
from headgate.facts.ids import ResourceId

router = ApiRouter(prefix="/deployment", tags=["deployment"])

_LIST = "deployment.list_organizations"


class DeploymentOrganization(BaseModel):
    """An organization of the deployment: its home model, its state, and the time of its creation (seconds since the epoch).

    The model is empty for an organization whose log cannot be read.
    """

    id: str
    name: str
    model: str
    state: OrganizationState
    created: float | None


class SuspensionCreate(StrictSchema):
    """The reason for the suspension of an organization, for the audit."""

    why: Annotated[Text, Field(min_length=1, max_length=1000)]


@router.get("/organizations", response_model=page_model(DeploymentOrganization), **document_actions(_LIST))
def list_deployment_organizations(deployed: CurrentApp, caller: ByUser, pages: CurrentPaging) -> dict[str, Any]:
    """List every organization of the deployment."""
    organizations = deployed.organizations
    control = organizations.deployment.control
    control.require(Question(caller, _LIST, DEPLOYMENT))
    found = organizations.names_by_id
    shown = page_of_rows(
        ({"id": id, "name": name} for id, name in found.items()), pages, ("name", "id"), control.snapshot.revision
    )
    items = [{**each, **asdict(describe_organization(organizations, each["id"]))} for each in shown["items"]]
    return {**shown, "items": items}


@router.post("/organizations/{organization}/suspend", **DONE, **document_actions("deployment.suspend_organization"))
def suspend_organization(
    organization: Called, body: SuspensionCreate, deployed: CurrentApp, write: WritesDeployment
) -> dict[str, Any]:
    """Suspend an organization: every action in it is denied to every caller until it is resumed."""
    organizations = deployed.organizations
    id = organizations.resolve_listed_id(organization)
    write = replace(write, call=replace(write.call, why=body.why))
    decided = write.decide(SuspendOrganization(id), id, id=id)
    return _finish_in_both(decided, organizations, id, SuspendOrganization(id))


@router.post("/organizations/{organization}/resume", **DONE, **document_actions("deployment.suspend_organization"))
def resume_organization(organization: Called, deployed: CurrentApp, write: WritesDeployment) -> dict[str, Any]:
    """Resume a suspended organization: actions in it are decided as before the suspension."""
    organizations = deployed.organizations
    id = organizations.resolve_listed_id(organization)
    decided = write.decide(ResumeOrganization(id), id, id=id)
    return _finish_in_both(decided, organizations, id, ResumeOrganization(id))


@router.delete("/organizations/{organization}", **DONE, **document_actions("deployment.remove_organization"))
def delete_deployment_organization(
    organization: Called, deployed: CurrentApp, write: WritesDeployment
) -> dict[str, Any]:
    """Remove an organization and all principals in it. Its log and its files are kept; its name can be used again."""
    organizations = deployed.organizations
    id = organizations.resolve_listed_id(organization)
    decided = write.decide(RemoveOrganization(id), id, id=id)
    require_removable(organizations, id)
    return _finish_in_both(decided, organizations, id, EndOrganization())


def _finish_in_both(decided: Decided, organizations: Organizations, id: ResourceId, own: Command) -> dict[str, Any]:
    """Write `own` to the organization's log first, because decisions in it use that log; then to the deployment's log."""
    write = decided.write
    if not write.dry_run:
        organizations.open(id).control.execute(own, None, write.call)
    return decided.finish()
