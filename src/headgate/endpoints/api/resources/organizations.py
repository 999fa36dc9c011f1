"""Organizations: the organization that a request addresses, the caller's organizations, and their creation."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from headgate.control.deployment import bootstrap
from headgate.control.deployment.bootstrap import OrganizationSpec, preview_founding
from headgate.control.deployment.break_glass import break_glass_until
from headgate.control.kernel.errors import AlreadyExistsError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization_life import EndOrganization, RenameOrganization
from headgate.control.organizations.removal import require_removable
from headgate.control.resources.changes import RenameResource
from headgate.control.resources.commands import DeleteResource
from headgate.decision.types import Question
from headgate.endpoints.api.identity.me import organization_name
from headgate.endpoints.auth.dependencies import CurrentAuth
from headgate.endpoints.common.context import AppState, CurrentApp, CurrentOrganization
from headgate.endpoints.common.deployment_callers import ByAnyone, ByUser
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Wants, Write, Writes, writing
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId

router = ApiRouter(tags=["organizations"])

_CREATE, _ASSIGN_OWNER = "deployment.create_organization", "deployment.assign_owner"


class OrganizationSummary(BaseModel):
    """An organization. Its id or name selects it in paths: `/o/{organization}/api/v1/...`."""

    id: str
    name: str


class OrganizationDetails(OrganizationSummary):
    """The organization: its home model (`model`) and the model of its ownership tree (`tree`), or null without one.

    `break_glass` is the end of the break-glass access that is active in the organization (seconds since the epoch), or null.
    """

    model: str
    tree: str | None
    attributes: dict[str, list[str]]
    break_glass: float | None
    version: str
    revision: int


class OrganizationPatch(StrictSchema):
    """The name of the organization."""

    name: Title


class OrganizationCreate(StrictSchema):
    """A new organization: its home model (`model`) and the model of its ownership tree (`tree`), if any.

    `owner` is the login name or id of a user of the deployment; the caller if omitted. `domain` is the e-mail domain of the
    organization, if the deployment's model requires one.
    """

    name: Title
    model: Called
    tree: Called | None = None
    domain: Called | None = None
    owner: Called | None = None


class OrganizationCreated(OrganizationSummary):
    """The created organization; for a dry run, the organization that would be created."""

    revision: int
    dry_run: bool = False


@router.get(
    "/organization", response_model=OrganizationDetails, **caller_only("every member may know the organization")
)
def get_organization(deployed: CurrentApp, organization: CurrentOrganization, response: Response) -> dict[str, Any]:
    """Get the organization that the request addresses."""
    facts, id = organization.control.snapshot, organization.id
    shown = set_etag(response, organization, facts, id)
    return {
        "id": id,
        "name": organization_name(deployed, organization),
        "model": facts.model,
        "tree": facts.governs.get(id),
        "attributes": facts.resources[id].attributes,
        "break_glass": break_glass_until(facts, organization.control.now),
        "version": shown,
        "revision": facts.revision,
    }


@router.patch(
    "/organization",
    **DONE,
    **document_actions("organization.edit", "organization.change_settings", "organization.manage_users"),
)
def update_organization(
    body: OrganizationPatch, deployed: CurrentApp, organization: CurrentOrganization, write: Writes
) -> dict[str, Any]:
    """Rename the organization. Its other attributes are managed by the operator."""
    id = organization.id
    decided = write.decide(RenameOrganization(body.name), id, id=id, name=body.name)
    if not write.dry_run:
        try:
            deployed.organizations.deployment.control.execute(RenameResource(id, body.name), None, write.call)
        except AlreadyExistsError:
            # A concurrent repeat renamed it, or an earlier attempt ended before it wrote to the organization's log.
            if organization_name(deployed, organization) != body.name:
                raise
    return decided.finish()


@router.delete("/organization", **DONE, **document_actions("organization.delete"))
def delete_organization(deployed: CurrentApp, organization: CurrentOrganization, write: Writes) -> dict[str, Any]:
    """Delete the organization and remove all principals from it. Its log is kept for the operator."""
    id = organization.id
    decided = write.decide(EndOrganization(), id, id=id)
    require_removable(deployed.organizations, id)
    if not write.dry_run:
        # A concurrent repeat unlisted it, or an earlier attempt ended before it wrote to the organization's log.
        with suppress(NotFoundError):
            deployed.organizations.deployment.control.execute(DeleteResource(id), None, write.call)
    return decided.finish()


@router.get(
    "/organizations",
    response_model=page_model(OrganizationSummary),
    **caller_only("returns only organizations that the caller is in"),
)
def list_organizations(deployed: CurrentApp, who: ByAnyone, pages: CurrentPaging) -> dict[str, Any]:
    """List the organizations that the caller is in, including suspended ones."""
    there = deployed.organizations.deployment.control.snapshot
    mine = [each for each in deployed.organizations.of(who.principal) if each.caller(who) or each.is_suspended_for(who)]
    rows = ({"id": each.id, "name": organization_name(deployed, each)} for each in mine)
    return page_of_rows(rows, pages, ("name", "id"), there.revision)


async def open_founding_write(
    request: Request, response: Response, deployed: CurrentApp, caller: ByUser, wants: Wants
) -> AsyncGenerator[Write]:
    """Yield the write that creates an organization; its answer is kept in the new organization's log."""
    root = _root(caller.principal, wants.key)
    organization = await run_in_threadpool(deployed.organizations.draft, root)
    async with writing(request, response, organization, caller, wants) as write:
        yield write


@router.post(
    "/organizations", status_code=201, response_model=OrganizationCreated, **document_actions(_CREATE, _ASSIGN_OWNER)
)
def create_organization(
    body: OrganizationCreate,
    deployed: CurrentApp,
    ways: CurrentAuth,
    write: Annotated[Write, Depends(open_founding_write)],
) -> dict[str, Any]:
    """Create an organization, if the deployment's model allows the caller to."""
    root, organizations = write.organization.id, deployed.organizations
    attributes = {"domain": (body.domain,)} if body.domain is not None else dict[str, tuple[str, ...]]()
    owner, name = _owner(deployed, ways, write.caller, body.owner)
    founding = OrganizationSpec(root, body.name, owner, name, body.model, body.tree, attributes)
    reply = write.reply(id=root, name=body.name)
    begins = write.call_for(reply)
    if write.dry_run:
        preview_founding(organizations, founding, write.caller, write.call)
        write.response.status_code = 200
        return {"revision": write.organization.control.snapshot.revision, **reply.made, "dry_run": True}
    bootstrap.create_organization(organizations, founding, write.caller, write.call, begins)
    return reply.answer


def _owner(deployed: AppState, ways: CurrentAuth, caller: Caller, named: str | None) -> tuple[PrincipalId, str]:
    """Return the id and the name of the future owner. Another owner than the caller needs `deployment.assign_owner`."""
    own = ways.authentication.user(caller.principal)
    if named is None or named == caller.principal or (own and named == own.login):
        return caller.principal, own.name if own else caller.principal
    deployed.organizations.deployment.control.require(Question(caller, _ASSIGN_OWNER, DEPLOYMENT))
    found_user = ways.authentication.user(PrincipalId(named)) or ways.authentication.user_of(named)
    return found_user.principal, found_user.name


def _root(principal: PrincipalId, key: str | None) -> ResourceId:
    # Idempotency: repeats of a request get the same id, so the organization is created once.
    if key is None:
        return ResourceId(new_id("o"))
    return ResourceId(f"o_{hashlib.sha256(f'{len(principal)}:{principal}{key}'.encode()).hexdigest()[:32]}")
