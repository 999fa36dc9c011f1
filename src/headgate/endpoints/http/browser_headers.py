"""Security headers for browsers, in every response: content security policy, framing, sniffing, referrer, HSTS."""

from collections.abc import Iterable

from starlette.types import Scope

from headgate.endpoints.http.request_context import RawHeader

_POLICY = b"content-security-policy"
_PAGE = b"default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"
_NO_PAGE = b"default-src 'none'; frame-ancestors 'none'"
_ALWAYS: tuple[RawHeader, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_FOR_PAGES = (*_ALWAYS, (_POLICY, _PAGE))
_FOR_OTHERS = (*_ALWAYS, (_POLICY, _NO_PAGE))
_TLS_ONLY = ((b"strict-transport-security", b"max-age=31536000"),)


def browser_headers(scope: Scope, own: Iterable[RawHeader]) -> Iterable[RawHeader]:
    """Return the headers to add to a response that has the headers `own`; its own content security policy is kept."""
    added = _FOR_OTHERS
    for name, value in own:
        if name == _POLICY:
            added = _ALWAYS
            break
        if name == b"content-type" and value.startswith(b"text/html"):
            added = _FOR_PAGES
    return added + _TLS_ONLY if scope.get("scheme") == "https" else added
