"""Session cookies of browsers: the secret is in an `HttpOnly` cookie, which no script can read."""

import re

from fastapi import Request, Response

from headgate.control.authentication.sessions import NewSession
from headgate.endpoints.common.csrf import CSRF_HEADER, require_csrf_token
from headgate.endpoints.common.problems import ProblemError

_SAFE = ("GET", "HEAD", "OPTIONS")
_VALUE = re.compile(r"[\w.~%-]+", re.ASCII)
"""The characters in the value of a cookie that Headgate sets."""


def require_presented_secret(request: Request) -> str:
    """Return the secret that a request presents: from its `Authorization` header, else from its session cookie.

    Raises `ProblemError` 401 if there is no secret, and 403 if a request that changes something has a cookie, but no
    valid CSRF token.
    """
    secret = bearer_secret_of(request)
    if secret is not None:
        return secret
    kept = in_cookie(request)
    if kept is None:
        raise ProblemError(
            401,
            "unauthenticated",
            "the request has no token and no session; send one as `Authorization: Bearer <token>`, or log in",
        )
    if request.method not in _SAFE:
        require_csrf_token(request, kept, request.headers.get(CSRF_HEADER, ""))
    return kept


def bearer_secret_of(request: Request) -> str | None:
    """Return the bearer token in the `Authorization` header of a request, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret if scheme.lower() == "bearer" and secret else None


def in_cookie(request: Request) -> str | None:
    """Return the secret in the session cookie, or None."""
    return cookie_of(request, "headgate")


def cookie_of(request: Request, plain: str) -> str | None:
    """Return the value of a cookie that Headgate set.

    None if there is no cookie or several of the name, or if the value has characters that Headgate does not use. Values
    are read without unescaping: the standard library can take seconds to unescape one value.
    """
    begins = f"{cookie_name(request, plain)}="
    parts = (part.strip() for header in request.headers.getlist("cookie") for part in header.split(";"))
    found = [part.removeprefix(begins) for part in parts if part.startswith(begins)]
    return found[0] if len(found) == 1 and _VALUE.fullmatch(found[0]) else None


def remember(request: Request, response: Response, started: NewSession) -> None:
    """Set the session cookie in a response."""
    put(request, response, "headgate", started.secret, int(started.session.ends - started.session.at))


def put(request: Request, response: Response, plain: str, value: str, seconds: int) -> None:
    """Set a cookie that the browser sends to this server only and hides from scripts; 0 `seconds` deletes it."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(request, plain), value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
    )


def cookie_name(request: Request, plain: str) -> str:
    """Return the name of a cookie: under TLS with the prefix `__Host-`, so that no other host and no plain HTTP can set it."""
    return f"__Host-{plain}" if request.url.scheme == "https" else plain
