"""API tokens. The secret of a token is only in the response that issues it."""

import secrets
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.control.access.visibility import may_see_subject
from headgate.control.identity import tokens
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.identity.tokens import LAST_USE, IssueToken, RevokeToken
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.deployment_callers import ByAnyone
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, find_resource, visible_display_name
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, page_model
from headgate.endpoints.common.subject_lookup import find_principal
from headgate.endpoints.common.writes import DONE, WriteAnswer, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId

router = ApiRouter(tags=["tokens"])

_DAY = 86400.0
_MOST = 100


class TokenSummary(BaseModel):
    """A token without its secret. It expires at `ends`; null means never.

    A token can be narrowed: `only` limits it to what roles on these resources would allow, and `actions` to these actions.
    `acts_in` is the team in which the principal acts with it. Times are seconds since the epoch; `last_used` is accurate to the minute.
    """

    id: str
    label: str
    principal: str
    name: str
    ends: float | None
    only: list[str] | None
    actions: list[str] | None
    acts_in: str | None
    last_used: float | None


class TokenCreate(StrictSchema):
    """A token to issue, for the caller or for another principal. It expires at `ends`, or after `days`.

    `only` limits it to what roles on these resources would allow, and `actions` to these actions. With a `parent`, the token is
    a resource below it, and the access model decides which callers may delete it. Issuing it revokes the token `replaces`.
    With `acts_in`, the principal acts in that team, of which it is a member: for actions that the access model lists in
    `acting`, only the roles of that team count.
    """

    principal: Called | None = None
    label: Annotated[Text, Field(max_length=200)] = ""
    ends: Time | None = None
    days: Annotated[float, Field(gt=0, le=3650)] | None = None
    only: Annotated[list[Called], Field(max_length=_MOST)] | None = None
    actions: Annotated[list[Called], Field(max_length=_MOST)] | None = None
    parent: Called | None = None
    replaces: Called | None = None
    acts_in: Called | None = None


class IssuedToken(WriteAnswer):
    """An issued token. `token` is its secret; no other response has it, not even that to a repeated request."""

    token: str | None = None
    ends: float | None = None


@router.get(
    "/tokens",
    response_model=page_model(TokenSummary),
    **caller_only("returns the caller's tokens; those of another principal if the caller may know of the principal"),
)
def list_tokens(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    pages: CurrentPaging,
    principal_named: Annotated[
        Called | None, Query(alias="principal", description="the principal: an id or name")
    ] = None,
) -> dict[str, Any]:
    """List the tokens of the caller or of another principal, without their secrets."""
    facts = organization.control.snapshot
    whose = caller.principal if principal_named is None else find_principal(organization, caller, principal_named)
    acting = facts.actors_of.get(whose, ())
    ids = sorted(TokenId(id) for id in acting if id in facts.tokens and _is_shown(organization, caller, TokenId(id)))
    labels, uses = organization.store.documents("token", ids), organization.store.documents(LAST_USE, ids)
    rows = (
        _row(organization, caller, id, str(labels.get(id, {}).get("label", "")), uses.get(id, {}).get("at"))
        for id in ids
    )
    return page_of_rows(rows, pages, ("id", "label", "ends", "last_used"), facts.revision)


@router.post(
    "/tokens",
    status_code=201,
    response_model=IssuedToken,
    response_model_exclude_none=True,
    **caller_only(
        "a token for the caller needs no action; one for another principal needs the actions of the access model, or the "
        "privilege to assign all roles of that principal"
    ),
)
def create_token(
    body: TokenCreate,
    who: ByAnyone,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Issue a token. Its secret is only in this response."""
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    ends = _ends(body, organization.control.now)
    command = IssueToken(
        token,
        secret,
        find_principal(organization, caller, body.principal) if body.principal is not None else caller.principal,
        body.label,
        ends,
        None if body.only is None else tuple(find_resource(organization, caller, each) for each in body.only),
        None if body.actions is None else tuple(body.actions),
        None if body.parent is None else find_resource(organization, caller, body.parent),
        None if body.replaces is None else TokenId(body.replaces),
        None if body.acts_in is None else find_resource(organization, caller, body.acts_in),
        by_access_token=who.is_access_token,
    )
    answer = write.execute(command, ResourceId(token), id=token, ends=ends)
    # The secret is not stored, so the response to a repeated request does not have it.
    return answer if write.dry_run else {**answer, "token": tokens.format_token(token, secret)}


@router.delete(
    "/tokens/{token}",
    **DONE,
    **caller_only(
        "the caller's own token needs no action; another principal's token needs the actions of the access model"
    ),
)
def revoke_token(token: str, organization: CurrentOrganization, caller: CurrentCaller, write: Writes) -> dict[str, Any]:
    """Revoke a token. After the response, it is no longer valid."""
    id = TokenId(token)
    _require_seen(organization, caller, id)
    return write.execute(RevokeToken(id), ResourceId(id), id=id)


def _is_shown(organization: Organization, caller: Caller, id: TokenId) -> bool:
    """Return whether the caller may see a token of a principal that it may know of.

    Of its own principal's tokens, a narrowed caller sees only the token that it uses.
    """
    control = organization.control
    token = control.snapshot.tokens[id]
    narrowed = token.principal == caller.principal and is_narrowed(control.snapshot, caller)
    return not narrowed or id == caller.token


def _require_seen(organization: Organization, caller: Caller, id: TokenId) -> None:
    control = organization.control
    found = control.snapshot.tokens.get(id)
    subjects = (found.principal, PrincipalId(id)) if found else ()
    known = any(may_see_subject(control.answers, caller, each, control.now) for each in subjects)
    if not known or not _is_shown(organization, caller, id):
        raise NotFoundError(organization.wording.hidden((id,)))


def _ends(body: TokenCreate, now: float) -> float | None:
    if body.days is not None and body.ends is not None:
        raise InvalidError("the token has both `ends` and `days`; leave one of them out")
    return body.ends if body.days is None else now + body.days * _DAY


def _row(organization: Organization, caller: Caller, id: TokenId, label: str, used: float | None) -> dict[str, Any]:
    facts = organization.control.snapshot
    token = facts.tokens[id]
    only = None if token.only is None else [visible_display_name(organization, caller, each) for each in token.only]
    return {
        "id": id,
        "label": label,
        "principal": token.principal,
        "name": organization.directory.name(token.principal),
        "ends": token.ends,
        "only": only,
        "actions": None if token.actions is None else list(token.actions),
        "acts_in": None if token.acts_in is None else visible_display_name(organization, caller, token.acts_in),
        "last_used": organization.used.get(id, used),
    }
