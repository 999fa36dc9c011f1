"""API tokens. The secret is in the answer that issues it, and nowhere else."""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from headgate.control.tokens import IssueToken, RevokeToken, written
from headgate.doors.services import By, Uses, new_id
from headgate.facts.ids import TokenId

router = APIRouter(tags=["tokens"])

_DAY = 86400.0


class NewToken(BaseModel):
    """A token to issue: for oneself, or by name for somebody else; its life in days."""

    person: str | None = None
    label: Annotated[str, Field(max_length=200)] = ""
    days: Annotated[float, Field(gt=0, le=3650)] | None = None


@router.get("/tokens")
def list_tokens(services: Uses, caller: By) -> list[dict[str, Any]]:
    """The caller's own tokens, without their secrets."""
    facts = services.control.snapshot
    own = [id for id, token in facts.tokens.items() if token.principal == caller.principal]
    documents = services.store.documents("token", own)
    return [{"id": id, "label": documents.get(id, {}).get("label", ""), "ends": facts.tokens[id].ends} for id in own]


@router.post("/tokens", status_code=201)
def issue_token(body: NewToken, services: Uses, caller: By) -> dict[str, Any]:
    """Issue a token; the answer is the only place where its secret ever stands."""
    principal = services.directory.principal(body.person) if body.person else caller.principal
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    ends = services.control.now + body.days * _DAY if body.days else None
    after = services.control.execute(IssueToken(token, secret, principal, body.label, ends), caller)
    return {"id": token, "token": written(token, secret), "revision": after.revision}


@router.delete("/tokens/{id}")
def revoke_token(id: str, services: Uses, caller: By) -> dict[str, Any]:
    """The token is dead when this returns."""
    after = services.control.execute(RevokeToken(TokenId(id)), caller)
    return {"revision": after.revision}
