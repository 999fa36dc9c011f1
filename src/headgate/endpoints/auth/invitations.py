"""Invitations: created by a user who could add the new user directly, accepted by the person who holds the link."""

from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import BaseModel, Field

from headgate.control.authentication.invitations import Invitation, Withdraw, build_missing_invitation_error
from headgate.control.authentication.services import AuthServices
from headgate.control.identity.principals import choose_first_role
from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.kernel.ports import DocumentConflictError
from headgate.endpoints.auth.dependencies import Client, CurrentAuth, session
from headgate.endpoints.auth.sessions import LoginName, LoginResult, PasswordText, build_login_result
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.csrf import require_own_origin
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.lookup import Text, find_resource
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions, public
from headgate.endpoints.common.schemas import StrictSchema, page_model
from headgate.endpoints.common.writes import DONE, WriteAnswer, Writes
from headgate.facts.ids import PrincipalId

router = IndexedRouter(prefix="/api/v1/invitations", tags=["logins"])


class InvitationCreate(StrictSchema):
    """The role that an invited user gets on the organization, or on `place`: the resource that users join under its model.

    If it is left out, the user gets the access model's role for newcomers.
    """

    role: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    place: Annotated[Text, Field(max_length=200)] | None = None


class IssuedInvitation(WriteAnswer):
    """`invitation` is the secret to hand over; only this response has it, and the response to a repeated request does not."""

    invitation: str | None = None
    ends: float | None = None


class InvitationSummary(BaseModel):
    """An invitation that is valid until `ends` (seconds since the epoch), and the user who created it (`by`)."""

    id: str
    organization: str
    by: str
    role: str
    ends: float


class InvitationAcceptance(StrictSchema):
    """Login name and password of a new user of the deployment. With `cookie` the session is set as the browser's cookie."""

    login: LoginName
    password: PasswordText
    cookie: bool = False


class AcceptedInvitation(BaseModel):
    """The organization that the user has joined, by id and `name`; `login` is set for a new user of the deployment."""

    organization: str
    name: str
    principal: str
    revision: int
    login: LoginResult | None = None


@router.post(
    "",
    status_code=201,
    response_model=IssuedInvitation,
    response_model_exclude_none=True,
    **document_actions("organization.add_user", "assignment.add"),
)
def create_invitation(
    body: InvitationCreate, organization: CurrentOrganization, caller: CurrentCaller, ways: CurrentAuth, write: Writes
) -> dict[str, Any]:
    """Invite a user to the organization."""
    place = find_resource(organization, caller, body.place) if body.place else None
    role = choose_first_role(organization.control.model, body.role)
    command, secret = ways.invitations.draft(organization, caller, role, place)
    new = command.invitation
    answer = write.execute(command, id=new.id, ends=new.ends)
    # The secret is stored nowhere: the response to a repeated request does not have it either.
    return answer if write.dry_run else {**answer, "invitation": secret}


@router.get(
    "",
    response_model=page_model(InvitationSummary),
    **caller_only("the list has the caller's own invitations; with `organization.manage_users`, all"),
)
def list_invitations(
    organization: CurrentOrganization, caller: CurrentCaller, ways: CurrentAuth, pages: CurrentPaging
) -> dict[str, Any]:
    """List the invitations that are not expired, used or withdrawn."""
    found = ways.invitations.list_visible(organization, caller)
    rows = (_format_invitation(each, organization.directory.name(each.by.principal)).model_dump() for each in found)
    return page_of_rows(rows, pages, ("ends", "by", "role"), organization.control.snapshot.revision)


@router.delete(
    "/{id}", **DONE, **caller_only("the invitation is the caller's own; another's needs `organization.manage_users`")
)
def delete_invitation(
    id: str, organization: CurrentOrganization, caller: CurrentCaller, ways: CurrentAuth, write: Writes
) -> dict[str, Any]:
    """Withdraw an invitation."""
    try:
        return write.execute(Withdraw(ways.invitations.find_by_id(organization, caller, id)))
    except DocumentConflictError:
        raise build_missing_invitation_error() from None


@router.get("/{secret}/accept", **public("an invited person is not a user yet; the secret is in the address"))
def get_invitation(secret: str, ways: CurrentAuth) -> InvitationSummary:
    """Get the organization and the role of an invitation."""
    found = ways.invitations.find(secret)
    return _format_invitation(found, found.by.principal)


@router.post("/{secret}/accept", status_code=201, **public("an invited person is not a user yet"))
def accept_invitation(
    secret: str,
    request: Request,
    response: Response,
    ways: CurrentAuth,
    told: Client,
    body: InvitationAcceptance | None = None,
) -> AcceptedInvitation:
    """Accept an invitation, as the user of the request's session or as a new user with a login name and password."""
    found = ways.invitations.find(secret)
    if body is None:
        mine = session(request, ways)
        return _accept(ways, found, mine.principal)
    require_own_origin(request)
    principal = _register(ways, found, body)
    joined = _accept(ways, found, principal)
    started = ways.authentication.log_in(body.login, body.password, told)
    login = build_login_result(request, response, started, cookie=body.cookie)
    return joined.model_copy(update={"login": login})


def _register(ways: AuthServices, found: Invitation, body: InvitationAcceptance) -> PrincipalId:
    """Register the new user of an invitation. Raises `NotFoundError` if another request has just used the invitation."""
    try:
        return ways.authentication.newcomer(found.newcomer, body.login, body.password)
    except AlreadyExistsError:
        if ways.authentication.user(found.newcomer) is not None:
            raise build_missing_invitation_error() from None
        raise


def _accept(ways: AuthServices, found: Invitation, principal: PrincipalId) -> AcceptedInvitation:
    user = ways.authentication.user(principal)
    facts = ways.invitations.accept(found, principal, user.name if user else principal)
    name = ways.invitations.organization_name(found)
    return AcceptedInvitation(organization=found.organization, name=name, principal=principal, revision=facts.revision)


def _format_invitation(each: Invitation, by: str) -> InvitationSummary:
    return InvitationSummary(id=each.id, organization=each.organization, by=by, role=each.role, ends=each.ends)
