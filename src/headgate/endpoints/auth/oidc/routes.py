"""Routes of the OpenID Connect login: the redirect to the provider, and the callback."""

import hmac
import re
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import Query, Request
from fastapi.responses import RedirectResponse

from headgate.control.authentication.errors import LoginError
from headgate.endpoints.auth.dependencies import Client, CurrentAuth
from headgate.endpoints.auth.oidc.client import LoginAttempt, ProviderClient
from headgate.endpoints.common.cookies import cookie_of, put, remember
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import public
from headgate.endpoints.http.hosts import base_url

router = IndexedRouter(prefix="/oidc", tags=["logins"])

_COOKIE = "headgate-login"
_SECONDS = 600
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of this deployment, in visible ASCII without a backslash: browsers read a backslash as a slash."""

Short = Annotated[Text, Query(max_length=4000)]


@router.get("/login", status_code=303, **public("a user who logs in is not identified yet"))
def start_oidc_login(request: Request, next: Short = "/") -> RedirectResponse:
    """Redirect to the provider. After the login the browser is redirected to `next`, a path of this deployment."""
    if not _LOCAL.fullmatch(next):
        raise ProblemError(422, "invalid", "`next` is not a path of this deployment; send a path such as `/`")
    attempt = LoginAttempt.begin()
    response = RedirectResponse(_provider(request).authorization_url(attempt, _back(request)), 303)
    put(request, response, _COOKIE, f"{attempt.secret}.{quote(next, safe='')}", _SECONDS)
    return response


@router.get("/callback", status_code=303, **public("a user who logs in is not identified yet"))
def finish_oidc_login(
    request: Request, ways: CurrentAuth, told: Client, state: Short = "", code: Short = "", error: Short = ""
) -> RedirectResponse:
    """Log in the user that the provider redirects back, and redirect to `next`."""
    secret, _, quoted = (cookie_of(request, _COOKIE) or "").partition(".")
    attempt = LoginAttempt(secret)
    if not secret or not hmac.compare_digest(attempt.state.encode(), state.encode()):
        raise LoginError(
            f"the login did not begin in this browser, or took more than {_SECONDS // 60} minutes; log in again"
        )
    if error or not code:
        raise LoginError(
            "the OpenID Connect provider did not log you in; log in again, or ask the operator to check the provider"
        )
    who = _provider(request).exchange_code(attempt, code, _back(request))
    started = ways.authentication.sessions.start(ways.outsiders.user(who), "oidc", told)
    path = unquote(quoted)
    response = RedirectResponse(path if _LOCAL.fullmatch(path) else "/", 303)
    put(request, response, _COOKIE, "", 0)
    remember(request, response, started)
    return response


def _provider(request: Request) -> ProviderClient:
    found: ProviderClient | None = request.app.state.provider
    if found is None:
        raise ProblemError(404, "not-found", "no OpenID Connect provider is configured; log in with a password")
    return found


def _back(request: Request) -> str:
    return f"{base_url(request.scope)}/oidc/callback"
