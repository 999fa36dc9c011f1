"""Protection against request smuggling: refuses heads that two parsers could read differently, and heads that are too large."""

from urllib.parse import unquote_to_bytes

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.limits import Limits

_ONCE = frozenset({b"host", b"authorization", b"content-length", b"content-type", b"transfer-encoding"})


class RequestHeadMiddleware:
    """Refuses a head before anything acts on it."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        answer = find_refusal(scope, self._limits) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)


def find_refusal(scope: Scope, limits: Limits) -> Response | None:
    """Return the refusal of a head, or None. Closes the connection if the start of the next request is ambiguous."""
    answer = _too_large(scope, limits) or _ambiguous(scope)
    if answer is not None:
        answer.headers["connection"] = "close"
        return answer
    return _find_text_refusal(scope)


def _too_large(scope: Scope, limits: Limits) -> Response | None:
    headers = scope["headers"]
    if len(headers) > limits.headers:
        return problem_response(
            431, "headers-too-large", f"the request has more than {limits.headers} headers; send fewer headers"
        )
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    for name, value in headers:
        size += len(name) + len(value)
    if size > limits.header_bytes:
        return problem_response(
            431,
            "headers-too-large",
            (
                f"the request line and the headers have more than {limits.header_bytes} bytes; send a "
                "shorter URL, or fewer or shorter headers and cookies"
            ),
        )
    return None


def _ambiguous(scope: Scope) -> Response | None:
    names: list[bytes] = []
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" and value.lower() != b"chunked":
            return problem_response(
                400,
                "ambiguous",
                "`transfer-encoding` is not `chunked`; send `transfer-encoding: chunked` without another coding, or leave it out",
            )
        if name in _ONCE:
            if name in names:
                return problem_response(400, "ambiguous", f"the header `{name.decode()}` occurs twice; send it once")
            names.append(name)
    if b"content-length" in names and b"transfer-encoding" in names:
        return problem_response(
            400, "ambiguous", "the request has `content-length` and `transfer-encoding`; send one of them"
        )
    if b"host" not in names and scope.get("http_version") == "1.1":
        return problem_response(400, "ambiguous", "the `Host` header is missing; send the server's address in it")
    return None


def _find_text_refusal(scope: Scope) -> Response | None:
    for part in (scope.get("raw_path") or b"", scope["query_string"]):
        fault = _describe_fault(unquote_to_bytes(part)) if b"%" in part else None
        if fault is not None:
            return problem_response(400, "not-text", fault)
    return None


def _describe_fault(content: bytes) -> str | None:
    """Return why the decoded content of a URL is not text, or None."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return "the percent-encoded bytes of the URL are not UTF-8; encode its text as UTF-8"
    return "the URL contains `%00`; leave it out" if b"\0" in content else None
