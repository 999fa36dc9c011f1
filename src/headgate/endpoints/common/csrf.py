"""Protection against cross-site request forgery (CSRF): a request with a cookie proves that it comes from our own pages."""

import base64
import hashlib
import hmac
from urllib.parse import urlsplit

from fastapi import Request

from headgate.endpoints.common.problems import ProblemError

CSRF_HEADER = "x-csrf-token"


def require_csrf_token(request: Request, secret: str, token: str) -> None:
    """Raise `ProblemError` 403 unless the request comes from our own page: it knows the token of the session."""
    require_own_origin(request)
    if not hmac.compare_digest(csrf_token(secret).encode(), token.encode()):
        raise ProblemError(
            403, "csrf", "send the session's token, which `GET /api/v1/session` tells, as `X-CSRF-Token`"
        )


def require_own_origin(request: Request) -> None:
    """Raise `ProblemError` 403 if the browser says that another site's page sent the request."""
    origin = request.headers.get("origin")
    if origin is not None and _host_of(origin) != request.headers.get("host"):
        raise ProblemError(403, "csrf", "this can be sent from our own pages only")


def csrf_token(secret: str) -> str:
    """Return the token that only who can read our answers knows; it tells nothing of the secret."""
    digest = hashlib.sha256(b"headgate csrf " + secret.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
