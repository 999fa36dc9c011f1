"""What browsers are told with every answer."""

from starlette.types import Scope

from headgate.doors.http.exchange import RawHeaders

_ALWAYS: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
]
_PAGE = (
    b"content-security-policy",
    b"default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
)
_NO_PAGE = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_TLS_ONLY = (b"strict-transport-security", b"max-age=31536000")


def browser_headers(scope: Scope, own: RawHeaders) -> RawHeaders:
    """Return what an answer with these headers of its own is sent with; a page's own policy stays."""
    added = list(_ALWAYS)
    names = {name.lower(): value for name, value in own}
    if b"content-security-policy" not in names:
        added.append(_PAGE if names.get(b"content-type", b"").startswith(b"text/html") else _NO_PAGE)
    if scope.get("scheme") == "https":
        added.append(_TLS_ONLY)
    return added
