"""Dependencies of the login routes: the authentication services, the session and the client of a request."""

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
    """Return the authentication services that the application was wired with."""
    found: AuthServices = request.app.state.auth_services
    return found


def session(request: Request, ways: Annotated[AuthServices, Depends(auth_services_of)]) -> Session:
    """Return the session that a request presents.

    Raises `ProblemError` 401 without a valid session. A token is not a session: it cannot log a user in or out.
    """
    secret = require_presented_secret(request)
    if parse_secret(SESSION, secret) is None:
        raise ProblemError(
            401,
            "session-needed",
            "this route accepts no token; log in, and send the session or its cookie",
        )
    found = ways.authentication.sessions.find(secret)
    if found is None:
        raise ProblemError(401, "unauthenticated", "the session is unknown, expired or logged out; log in again")
    return found


def read_client(request: Request) -> Mapping[str, str]:
    """Return the address and the name (`User-Agent`) of the client, for the list of sessions."""
    host = request.client.host if request.client else ""
    return {"address": host, "agent": client_name_of(request.headers.get("user-agent", ""))}


def client_name_of(said: str) -> str:
    """Return the printable characters of the name that a client sent, at most 200."""
    return "".join(letter for letter in said if letter.isprintable())[:_AGENT]


CurrentAuth = Annotated[AuthServices, Depends(auth_services_of)]
CurrentSession = Annotated[Session, Depends(session)]
Client = Annotated[Mapping[str, str], Depends(read_client)]
