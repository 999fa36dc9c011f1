"""API tokens. The secret is in the answer that issues it, and nowhere else."""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from headgate.control.ids import new_id
from headgate.control.tokens import IssueToken, RevokeToken, written
from headgate.doors.api.names import Text, require
from headgate.doors.services import By, Services, Uses
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId

router = APIRouter(tags=["tokens"])

_DAY = 86400.0


class NewToken(BaseModel):
    """A token to issue: for oneself, or by name for somebody else; its life in days."""

    person: Text | None = None
    label: Annotated[Text, Field(max_length=200)] = ""
    days: Annotated[float, Field(gt=0, le=3650)] | None = None


@router.get("/tokens")
def list_tokens(services: Uses, caller: By) -> list[dict[str, Any]]:
    """The caller's own tokens, without their secrets."""
    facts = services.control.snapshot
    own = sorted(TokenId(id) for id in facts.acting.get(caller.principal, ()) if id in facts.tokens)
    documents = services.store.documents("token", own)
    return [{"id": id, "label": documents.get(id, {}).get("label", ""), "ends": facts.tokens[id].ends} for id in own]


@router.post("/tokens", status_code=201)
def issue_token(body: NewToken, services: Uses, caller: By) -> dict[str, Any]:
    """Issue a token; the answer is the only place where its secret ever stands."""
    principal = _principal(services, caller, body.person)
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    ends = services.control.now + body.days * _DAY if body.days else None
    after = services.control.execute(IssueToken(token, secret, principal, body.label, ends), caller)
    return {"id": token, "token": written(token, secret), "revision": after.revision}


def _principal(services: Services, caller: Caller, name: str | None) -> PrincipalId:
    if name in (None, services.directory.name(caller.principal)):
        return caller.principal
    require(services, caller, "organization.manage_users")
    return services.directory.principal(name)


@router.delete("/tokens/{id}")
def revoke_token(id: str, services: Uses, caller: By) -> dict[str, Any]:
    """The token is dead when this returns."""
    after = services.control.execute(RevokeToken(TokenId(id)), caller)
    return {"revision": after.revision}
