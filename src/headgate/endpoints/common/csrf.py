"""Protection against cross-site request forgery (CSRF): a request with a cookie proves that a page of this server sent it."""

import base64
import hashlib
import hmac
from urllib.parse import urlsplit

from fastapi import Request

from headgate.endpoints.common.problems import ProblemError

CSRF_HEADER = "x-csrf-token"


def require_csrf_token(request: Request, secret: str, token: str) -> None:
    """Raise `ProblemError` 403 unless a page of this server sent the request: only its pages know the session's CSRF token."""
    require_own_origin(request)
    if not hmac.compare_digest(csrf_token(secret).encode(), token.encode()):
        if not token:
            raise ProblemError(
                403, "csrf", "the header `X-CSRF-Token` is missing; send the token that `GET /api/v1/session` returns"
            )
        raise ProblemError(
            403,
            "csrf",
            "the header `X-CSRF-Token` is not the CSRF token of the session; send the token that `GET /api/v1/session` returns",
        )


def require_own_origin(request: Request) -> None:
    """Raise `ProblemError` 403 if the `Origin` header shows that a page of another site sent the request."""
    origin = request.headers.get("origin")
    if origin is not None and _host_of(origin) != request.headers.get("host"):
        raise ProblemError(
            403,
            "csrf",
            "the `Origin` header names another site than the `Host` header; send the request from a page of this server",
        )


def csrf_token(secret: str) -> str:
    """Return the CSRF token of a session. Only a page that can read this server's responses learns it.

    It is a hash of the session's secret, so it does not reveal the secret.
    """
    digest = hashlib.sha256(b"headgate csrf " + secret.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
