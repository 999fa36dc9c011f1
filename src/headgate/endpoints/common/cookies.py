"""Sessions of browsers: the secret in a cookie that no script can read."""

import re

from fastapi import Request, Response

from headgate.control.authentication.sessions import NewSession
from headgate.endpoints.common.csrf import CSRF_HEADER, require_csrf_token
from headgate.endpoints.common.problems import ProblemError

_SAFE = ("GET", "HEAD", "OPTIONS")
_VALUE = re.compile(r"[\w.~%-]+", re.ASCII)
"""What a value of ours is written with."""


def require_presented_secret(request: Request) -> str:
    """Return the secret that a request presents: in its `Authorization`, else in the cookie of a session.

    Raises `ProblemError`: 401 if there is none, 403 for a cookie by which something would be done from elsewhere.
    """
    secret = bearer_secret_of(request)
    if secret is not None:
        return secret
    kept = in_cookie(request)
    if kept is None:
        raise ProblemError(
            401, "unauthenticated", "send a token or session as `Authorization: Bearer <secret>`, or log in"
        )
    if request.method not in _SAFE:
        require_csrf_token(request, kept, request.headers.get(CSRF_HEADER, ""))
    return kept


def bearer_secret_of(request: Request) -> str | None:
    """Return the secret in the `Authorization` of a request, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret if scheme.lower() == "bearer" and secret else None


def in_cookie(request: Request) -> str | None:
    """Return the secret of the session in the cookie, or None."""
    return cookie_of(request, "headgate")


def cookie_of(request: Request, plain: str) -> str | None:
    """Return the value of a cookie of ours; None if there is none, several of the name, or one with other signs than ours.

    Values are read as they are: the standard library takes seconds to undo what a browser could have escaped in one.
    """
    begins = f"{cookie_name(request, plain)}="
    parts = (part.strip() for header in request.headers.getlist("cookie") for part in header.split(";"))
    found = [part.removeprefix(begins) for part in parts if part.startswith(begins)]
    return found[0] if len(found) == 1 and _VALUE.fullmatch(found[0]) else None


def remember(request: Request, response: Response, started: NewSession) -> None:
    """Put a session into the browser's cookie."""
    put(request, response, "headgate", started.secret, int(started.session.ends - started.session.at))


def put(request: Request, response: Response, plain: str, value: str, seconds: int) -> None:
    """Put a cookie that only we are sent, and no script can read; 0 seconds takes it away."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(request, plain), value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
    )


def cookie_name(request: Request, plain: str) -> str:
    """Return the cookie's name: under TLS one that no other host or plain HTTP can set."""
    return f"__Host-{plain}" if request.url.scheme == "https" else plain
