"""Endpoints for authentication: passwords, sessions, OAuth 2.0, OpenID Connect, invitations."""

import logging
import math

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse

from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.services import AuthServices
from headgate.control.kernel.audit_records import Denial
from headgate.endpoints.auth import devices, invitations, oauth, sessions
from headgate.endpoints.auth.oauth import OAuthError, on_oauth
from headgate.endpoints.auth.oidc import routes as oidc
from headgate.endpoints.auth.oidc.client import ProviderClient
from headgate.endpoints.auth.oidc.errors import ProviderError
from headgate.endpoints.common.context import AppState
from headgate.endpoints.common.problems import problem_response, with_retry_after
from headgate.endpoints.common.query_parameters import require_known_parameters
from headgate.endpoints.common.request_scope import REQUEST

log = logging.getLogger(__name__)


def install_auth(app: FastAPI, auth_services: AuthServices) -> None:
    """Install the routes of authentication, and the handlers of its errors, in `app`."""
    provider = auth_services.authentication.settings.provider
    app.state.auth_services = auth_services
    app.state.provider = ProviderClient(provider, lambda: auth_services.authentication.now) if provider else None
    for module in (sessions, invitations):
        app.include_router(module.router, dependencies=[Depends(require_known_parameters)])
    # Other programs may add query parameters to the routes of OAuth 2.0 and OpenID Connect.
    for module in (devices, oauth, oidc):
        app.include_router(module.router)
    app.add_exception_handler(OAuthError, on_oauth)

    @app.exception_handler(LoginError)
    def on_login(request: Request, error: LoginError) -> JSONResponse:
        _record_denial(request, "login-failed")
        return problem_response(401, "login-failed", str(error))

    @app.exception_handler(TooOftenError)
    def on_too_often(request: Request, error: TooOftenError) -> JSONResponse:
        _record_denial(request, "too-often")
        answer = problem_response(429, "too-often", str(error))
        answer.headers["retry-after"] = str(math.ceil(error.wait))
        return answer

    @app.exception_handler(ProviderError)
    def on_provider(_: Request, error: ProviderError) -> JSONResponse:
        # The error's text is for the operator, and goes to the log; a user who logs in can only retry.
        log.error("the OpenID Connect provider cannot be used: %s", error)
        return with_retry_after(
            problem_response(
                503,
                "unavailable",
                (
                    "the OpenID Connect provider cannot be used; retry later, or ask the operator of this "
                    "deployment to look for the reason in the server's log"
                ),
            )
        )


def _record_denial(request: Request, code: str) -> None:
    """Record a failed login in the deployment's audit. The record has no name: a user may type a password as the name."""
    deployed: AppState = request.app.state.deployed
    denial = Denial(code, f"{request.method} {request.scope['route'].path}")
    deployment, id = deployed.organizations.deployment, str(request.scope.get(REQUEST, ""))
    deployed.audit.record_denial(deployment, None, denial, "identity", id)
