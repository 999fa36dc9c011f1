"""Users of the organization. A caller that may not list the users finds only itself."""

from typing import Annotated, Any

from fastapi import Response
from pydantic import BaseModel, Field

from headgate.control.authentication.services import AuthServices
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal, choose_first_role
from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.organizations.organization import Organization
from headgate.endpoints.api.identity.me import HeldRole, list_held_roles
from headgate.endpoints.auth.dependencies import CurrentAuth
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import find_resource
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.subject_lookup import find_principal, require_free, visibility_filter
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import NOTHING_HELD, Snapshot

router = ApiRouter(tags=["users"])

_USER = "user"


class UserSummary(BaseModel):
    """A user, with the roles that the user holds on the organization itself."""

    id: str
    name: str
    roles: list[str]


class User(UserSummary):
    """A user, with the user's groups, and roles on the resources that the caller may see."""

    held: list[HeldRole]
    groups: list[str]
    version: str


class UserCreate(StrictSchema):
    """A new user of the deployment, with a role on the organization, or on `place`, if the access model adds users there.

    If the role is left out, it is the access model's role for newcomers. An existing user of the deployment joins the
    organization by accepting an invitation.
    """

    name: Title
    role: Annotated[Called, Field(max_length=100)] | None = None
    place: Called | None = None


@router.get("/users", response_model=page_model(UserSummary), **document_actions(DISCOVER))
def list_users(organization: CurrentOrganization, asking: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
    """List the users of the organization. A caller that may not list the users gets only itself."""
    facts, seen = asking.facts, visibility_filter(asking)
    rows = (_row(organization, facts, id) for id, each in facts.principals.items() if each.kind == _USER and seen(id))
    return page_of_rows(rows, pages, ("name", "id"), facts.revision)


@router.post(
    "/users",
    status_code=201,
    **DONE,
    **document_actions("{type}.add_user", "assignment.add"),
)
def create_user(
    body: UserCreate, organization: CurrentOrganization, caller: CurrentCaller, ways: CurrentAuth, write: Writes
) -> dict[str, Any]:
    """Create a user. To add an existing user of the deployment, create an invitation for that user."""
    place = find_resource(organization, caller, body.place) if body.place else None
    id = PrincipalId(write.new_id("p"))
    # Without the name: responses are stored for repeated requests, and the erasure of a user does not search them.
    role = choose_first_role(organization.control.model, body.role)
    decided = write.decide(AddPrincipal(id, body.name, role, place), ResourceId(id), id=id)
    require_free(write, body.name)
    if not write.dry_run:
        _register(ways, body.name, id)
    return decided.finish()


@router.get("/users/{user}", response_model=User, **document_actions(DISCOVER))
def get_user(user: str, organization: CurrentOrganization, caller: CurrentCaller, response: Response) -> dict[str, Any]:
    """Get a user."""
    id, facts = find_principal(organization, caller, user, _USER), organization.control.snapshot
    found = set_etag(response, organization, facts, ResourceId(id))
    groups = sorted(organization.directory.name(each) for each in facts.groups_of(id))
    return {
        **_row(organization, facts, id),
        "held": list_held_roles(organization, caller, id),
        "groups": groups,
        "version": found,
    }


@router.delete(
    "/users/{user}",
    **DONE,
    **document_actions("organization.manage_users", "assignment.remove"),
)
def delete_user(
    user: str, organization: CurrentOrganization, ways: CurrentAuth, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Remove a user, with the user's memberships, role assignments, tokens, open requests and invitations."""
    id = find_principal(organization, caller, user, _USER)
    command = RemovePrincipal(id, ways.invitations.list_ids_of(organization, id))
    return write.execute(command, ResourceId(id), id=id)


def _register(ways: AuthServices, name: str, id: PrincipalId) -> None:
    try:
        ways.authentication.register(name, principal=id)
    except AlreadyExistsError:
        # A concurrent repeat of the request has registered this user, with the same id.
        if ways.authentication.user(id) is None:
            raise


def _row(organization: Organization, facts: Snapshot, id: PrincipalId) -> dict[str, Any]:
    roles = {role for role, place, _ in facts.assignments.get(id, NOTHING_HELD) if place == facts.organization}
    return {"id": id, "name": organization.directory.name(id), "roles": sorted(roles)}
