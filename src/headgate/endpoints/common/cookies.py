"""Sessions of browsers: the secret in a cookie, and the proof that a request comes from our own pages."""

import base64
import hashlib
import hmac
import re
from urllib.parse import urlsplit

from fastapi import Request, Response

from headgate.control.authentication.sessions import NewSession
from headgate.endpoints.common.problems import ProblemError

_SAFE = ("GET", "HEAD", "OPTIONS")
HEADER = "x-csrf-token"
_VALUE = re.compile(r"[\w.~%-]+", re.ASCII)
"""What a value of ours is written with."""


def presented(request: Request) -> str:
    """Return the secret that a request presents: in its `Authorization`, else in the cookie of a session.

    Raises `ProblemError`: 401 if there is none, 403 for a cookie by which something would be done from elsewhere.
    """
    secret = bearer(request)
    if secret is not None:
        return secret
    kept = in_cookie(request)
    if kept is None:
        raise ProblemError(
            401, "unauthenticated", "send a token or session as `Authorization: Bearer <secret>`, or log in"
        )
    if request.method not in _SAFE:
        require_own_page(request, kept, request.headers.get(HEADER, ""))
    return kept


def bearer(request: Request) -> str | None:
    """Return the secret in the `Authorization` of a request, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret if scheme.lower() == "bearer" and secret else None


def in_cookie(request: Request) -> str | None:
    """Return the secret of the session in the cookie, or None."""
    return cookie(request, "headgate")


def cookie(request: Request, plain: str) -> str | None:
    """Return the value of a cookie of ours; None if there is none, several of the name, or one with other signs than ours.

    Values are read as they are: the standard library takes seconds to undo what a browser could have escaped in one.
    """
    begins = f"{name(request, plain)}="
    parts = (part.strip() for header in request.headers.getlist("cookie") for part in header.split(";"))
    found = [part.removeprefix(begins) for part in parts if part.startswith(begins)]
    return found[0] if len(found) == 1 and _VALUE.fullmatch(found[0]) else None


def require_own_page(request: Request, secret: str, token: str) -> None:
    """Raise `ProblemError` 403 unless the request comes from our own page: it knows the token of the session."""
    require_own_origin(request)
    if not hmac.compare_digest(csrf(secret).encode(), token.encode()):
        raise ProblemError(
            403, "csrf", "send the session's token, which `GET /api/v1/session` tells, as `X-CSRF-Token`"
        )


def require_own_origin(request: Request) -> None:
    """Raise `ProblemError` 403 if the browser says that another site's page sent the request."""
    origin = request.headers.get("origin")
    if origin is not None and _host_of(origin) != request.headers.get("host"):
        raise ProblemError(403, "csrf", "this can be sent from our own pages only")


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def csrf(secret: str) -> str:
    """Return the token that only who can read our answers knows; it tells nothing of the secret."""
    digest = hashlib.sha256(b"headgate csrf " + secret.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def remember(request: Request, response: Response, started: NewSession) -> None:
    """Put a session into the browser's cookie."""
    put(request, response, "headgate", started.secret, int(started.session.ends - started.session.at))


def put(request: Request, response: Response, plain: str, value: str, seconds: int) -> None:
    """Put a cookie that only we are sent, and no script can read; 0 seconds takes it away."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        name(request, plain), value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
    )


def name(request: Request, plain: str) -> str:
    """Return the cookie's name: under TLS one that no other host or plain HTTP can set."""
    return f"__Host-{plain}" if request.url.scheme == "https" else plain
