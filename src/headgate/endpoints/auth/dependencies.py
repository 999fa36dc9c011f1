"""What the routes of logins are given: the ways in, and whose session it is."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request

from headgate.control.authentication.secrets import SESSION, parse_secret
from headgate.control.authentication.services import AuthServices
from headgate.control.authentication.sessions import Session
from headgate.endpoints.common.cookies import require_presented_secret
from headgate.endpoints.common.problems import ProblemError

_AGENT = 200


def auth_services_of(request: Request) -> AuthServices:
    """Return the ways in that the application was wired with."""
    found: AuthServices = request.app.state.auth_services
    return found


def session(request: Request, ways: Annotated[AuthServices, Depends(auth_services_of)]) -> Session:
    """Return the session that a request presents, or answer 401. A token is none: it logs nobody in or out."""
    secret = require_presented_secret(request)
    if parse_secret(SESSION, secret) is None:
        raise ProblemError(401, "session-needed", "a token cannot do this, only the session of a login; log in")
    found = ways.authentication.sessions.find(secret)
    if found is None:
        raise ProblemError(401, "unauthenticated", "the session is unknown or has ended; log in")
    return found


def read_client(request: Request) -> Mapping[str, str]:
    """Return what a client says of itself, for the list of sessions."""
    host = request.client.host if request.client else ""
    return {"address": host, "agent": client_name_of(request.headers.get("user-agent", ""))}


def client_name_of(said: str) -> str:
    """Return what a client calls itself, as far as that can be shown."""
    return "".join(letter for letter in said if letter.isprintable())[:_AGENT]


CurrentAuth = Annotated[AuthServices, Depends(auth_services_of)]
CurrentSession = Annotated[Session, Depends(session)]
Client = Annotated[Mapping[str, str], Depends(read_client)]
