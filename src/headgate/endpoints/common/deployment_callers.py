"""Callers of the routes of the deployment itself: a user of the deployment, authenticated by a session, not by a token."""

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Depends, Request, Response

from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.endpoints.common.context import AppState, CurrentApp, PresentedSecret
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import CALLER
from headgate.endpoints.common.writes import Wants, Write, writing
from headgate.facts.caller import Caller

_UNKNOWN = "the token or session is unknown or has expired; log in again"
_NO_LOGIN = "a token is valid in its organization only, not for the deployment; log in and use the session"
_NO_USER = "you are not a user of the deployment; log in as a user of the deployment"


def require_presented_principal(deployed: CurrentApp, secret: PresentedSecret) -> AuthenticatedPrincipal:
    """Return the principal of a secret, in any organization. Raises `ProblemError` 401 for an unknown secret."""
    who = deployed.identity.authenticate(secret)
    if who is None:
        raise ProblemError(401, "unauthenticated", _UNKNOWN)
    return who


ByAnyone = Annotated[AuthenticatedPrincipal, Depends(require_presented_principal)]


def user(request: Request, deployed: CurrentApp, who: ByAnyone) -> Caller:
    """Return the caller in the deployment's own log.

    Raises `ProblemError` 403 for a token, for a run, and for a principal that is not a user of the deployment.
    """
    deployment = deployed.organizations.deployment
    request.scope[CALLER] = (deployment, Caller(who.principal, who.token, who.run))
    if who.organization is not None:
        _require_standing(deployed, who)
        raise ProblemError(403, "refused", _NO_LOGIN)
    if who.principal not in deployment.control.snapshot.principals:
        raise ProblemError(403, "refused", _NO_USER)
    return Caller(who.principal)


ByUser = Annotated[Caller, Depends(user)]


async def write(
    request: Request, response: Response, deployed: CurrentApp, caller: ByUser, wants: Wants
) -> AsyncGenerator[Write]:
    """Yield the write of a request to the deployment's own log."""
    async with writing(request, response, deployed.organizations.deployment, caller, wants) as found:
        yield found


WritesDeployment = Annotated[Write, Depends(write)]


def _require_standing(deployed: AppState, who: AuthenticatedPrincipal) -> None:
    """Raise `ProblemError` 401 for a token or run that is no longer valid: expired, revoked or finished."""
    there = deployed.organizations.open(who.organization) if who.organization else None
    if there is None or (there.caller(who) is None and not there.is_suspended_for(who)):
        raise ProblemError(401, "unauthenticated", _UNKNOWN)
