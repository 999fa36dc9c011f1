"""The client of the API: the URL and credential of its calls, and the problems that it returns, as sentences."""

import math
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies

import httpx

from headgate.app.settings.settings import default_settings
from headgate.cli.deployment_url import API, configured_url, demo_folder, deployment_address, organization_in_url
from headgate.cli.errors import ApiError
from headgate.cli.session_file import kept_session
from headgate.control.egress.loopback import is_loopback

__all__ = [
    "CALL_TIMEOUT",
    "ApiError",
    "api_path",
    "configured_url",
    "describe_credential",
    "every",
    "format_revision",
    "given_fields",
    "pages",
    "problem_of",
    "reason_header",
    "require_token",
    "send",
    "send_delete",
    "send_request",
    "send_write",
    "stored_credential",
]

CALL_TIMEOUT = 600.0
"""Seconds after which a call times out; a SQL statement may run for minutes."""

_PROBE = 5.0
"""Seconds that a server has to answer before the command line asks for a login."""

_PAGE = 500
"""Entries of a list in one response."""

_PROBLEM = "urn:headgate:problem:"
_UNKNOWN_CALLER, _TOO_OFTEN = f"{_PROBLEM}unauthenticated", f"{_PROBLEM}too-often"
_MINUTE = 60


def send_request(method: str, path: str, *, body: Any = None, **query: Any) -> Any:
    """Call the API and return the JSON of its response. Raises `ApiError` with the text of the problem."""
    return _called(method, path, body, query).json()


def send_write(
    method: str,
    path: str,
    *,
    body: Any = None,
    query: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    reason: str = "",
) -> dict[str, Any]:
    """Call a route that writes, and return its response, which is empty if the route has none.

    For a dry run, the server writes nothing and returns the effects. `reason` is kept in the audit. Raises `ApiError` with the
    text of the problem.
    """
    headers = reason_header(reason)
    answer = _called(method, path, body, {**(query or {}), "dry_run": "true" if dry_run else None}, headers)
    return answer.json() if answer.content else {}


def reason_header(reason: str) -> dict[str, str]:
    """Return the header with the reason that the audit keeps; none for an empty reason.

    Raises `ApiError` for a text that a header cannot contain.
    """
    if not (reason.isascii() and reason.isprintable()):
        raise ApiError("`--reason` has a character that a header cannot contain; write it on one line, in ASCII")
    return {"headgate-why": reason} if reason else {}


def send_delete(path: str) -> None:
    """Delete the object at a path. Raises `ApiError` with the text of the problem."""
    send("DELETE", path)


def send(method: str, path: str, *, body: Any = None) -> None:
    """Call a route of the API whose response has no body. Raises `ApiError` with the text of the problem."""
    _called(method, path, body, {})


def every(path: str, *, method: str = "GET", body: Any = None, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield every entry of a list, page after page. Raises `ApiError` with the text of the problem."""
    for page in pages(path, method=method, body=body, **query):
        yield from page["items"]


def pages(path: str, *, method: str = "GET", body: Any = None, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield every page of a list. Raises `ApiError` with the text of the problem."""
    cursor: str | None = None
    while True:
        page = send_request(method, path, body=body, limit=_PAGE, cursor=cursor, **query)
        yield page
        cursor = page["next"]
        if cursor is None:
            return


def api_path(*parts: str) -> str:
    """Return the path of these parts, percent-encoded.

    Raises `ApiError` for a part that would name the collection or another object: an empty one, `.` and `..`.
    """
    if not all(parts):
        raise ApiError("a name or an id is empty; pass a name or an id")
    if dots := {".", ".."}.intersection(parts):
        raise ApiError(f"`{min(dots)}` cannot be a name or an id; pass a name or an id")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def given_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields for the body of a request without those that the user left out."""
    return {key: value for key, value in fields.items() if value not in (None, [])}


def format_revision(answer: Mapping[str, Any]) -> str:
    """Return the revision of a response, as commands print it."""
    return f"revision {answer['revision']}"


def require_token() -> str:
    """Return the token or session to call the API with.

    Without one, raises `httpx.TransportError` if no server on this machine answers, which is the first thing to fix, else
    `ApiError`.
    """
    try:
        return stored_credential()[0]
    except ApiError:
        if is_loopback(urlsplit(configured_url()).hostname or ""):
            httpx.get(f"{deployment_address()}{API}/health", timeout=_PROBE)
        raise


def stored_credential() -> tuple[str, str]:
    """Return the token or session to call the API with, and its origin as text. Raises `ApiError` if there is none."""
    named = os.environ.get("HEADGATE_TOKEN")
    if named:
        return _require_sendable(named, "HEADGATE_TOKEN"), "the token in HEADGATE_TOKEN"
    if named is not None:
        # Often a file that could not be read: the command must not run as the owner instead.
        raise ApiError("HEADGATE_TOKEN is empty; set it to a token, or unset it to use your login or the owner's token")
    if session := kept_session(configured_url(), os.environ):
        return session, "the session of `headgate auth login`"
    kept = default_settings(os.environ).owner_token
    if not is_loopback(urlsplit(configured_url()).hostname or ""):
        raise ApiError(
            f"log in with `headgate auth login`, or set HEADGATE_TOKEN to a token; the owner's token in `{kept}` is sent only to a server on this machine"
        )
    try:
        token = kept.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ApiError(
            f"you are not logged in, and HEADGATE_TOKEN is not set; log in with `headgate auth login`, or set HEADGATE_TOKEN to a token. On the machine of the server, set HEADGATE_DATA to its data folder: `{kept}` cannot be read{_demo_hint()}"
        ) from None
    return _require_sendable(token, f"`{kept}`"), f"the owner's token in `{kept}`"


def _require_sendable(token: str, source: str) -> str:
    """Return a token that a header can contain. Raises `ApiError`, which does not repeat the token, for any other text."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ApiError(
            f"{source} contains a space, a line break or another character that no token has; set it to the token alone"
        )
    return token


def describe_credential() -> str:
    """Return which credential later commands use, as a clause."""
    try:
        return f"commands now use {stored_credential()[1]}"
    except ApiError:
        return "you are not logged in, and HEADGATE_TOKEN is not set"


def _demo_hint() -> str:
    """Return how to use the owner's token of the demo, if the working folder has the demo's data; else an empty text."""
    folder = demo_folder(os.environ)
    return f"; for the server of the demo, set HEADGATE_DATA={folder}" if folder else ""


def _called(
    method: str, path: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    url = f"{configured_url()}/api/v1{path}"
    answer = httpx.request(
        method,
        url,
        verify=may_use_tls(url),
        json=body,
        params={key: value for key, value in query.items() if value is not None},
        headers={"authorization": f"Bearer {require_token()}", **(headers or {})},
        timeout=CALL_TIMEOUT,
    )
    if not answer.is_success:
        raise ApiError(_choice(answer) or problem_of(answer))
    return answer


def may_use_tls(url: str) -> bool:
    """Return whether a request to the URL may use TLS; for any other one, a command does not load the certificates, which is slow."""
    return not url.startswith("http:") or bool(getproxies())


def _choice(answer: httpx.Response) -> str:
    """Return how to choose an organization, for a caller that is in several; else an empty text."""
    several = _document(answer).get("organizations", ())
    if answer.status_code != httpx.codes.BAD_REQUEST or len(several) < 2:  # noqa: PLR2004 (one organization leaves no choice)
        return ""
    where, sent = deployment_address(), {"authorization": answer.request.headers["authorization"]}
    listed = _document(httpx.get(f"{where}/api/v1/organizations", params={"limit": _PAGE}, headers=sent)).get(
        "items", ()
    )
    names = [each["name"] for each in listed] or several
    ways = (f"`export HEADGATE_URL={where}/o/{quote(name, safe='')}`" for name in names)
    return f"you are in several organizations; choose one: {' or '.join(ways)}"


def problem_of(answer: httpx.Response) -> str:
    """Return the problem of an error response as text."""
    body = _document(answer)
    if not body:
        return f"`{answer.request.url}` answered with status {answer.status_code}, but not as a Headgate server does; check HEADGATE_URL"
    if body.get("type") == _UNKNOWN_CALLER and "authorization" in answer.request.headers:
        return _unknown_caller(answer)
    wait = answer.headers.get("retry-after", "")
    if body.get("type") == _TOO_OFTEN and wait.isdecimal():
        return f"there were too many requests or attempts to log in; retry in {format_duration(int(wait))}"
    if body.get("faults"):
        fields = (f"{each['at'].removeprefix('body.')}: {each['fault']}" for each in body["faults"])
        more = f"; and up to {body['more_faults']} more" if body.get("more_faults") else ""
        return f"the request is invalid: {'; '.join(fields)}{more}"
    return _with_request_command(body) or str(answer.status_code)


def _with_request_command(problem: Mapping[str, Any]) -> str:
    """Return the detail of a problem; in place of its link for requesting access, it has the command.

    The command is without backticks: another user may have chosen the name in it, and a shell would run parts of it.
    """
    detail, link, missing = problem.get("detail", ""), problem.get("ask"), problem.get("missing")
    if not link or not missing:
        return str(detail)
    words = (missing[0]["action"], missing[0]["resource"])
    return str(detail).replace(link, f"headgate request create {shlex.join(words)} --purpose PURPOSE")


def _unknown_caller(answer: httpx.Response) -> str:
    """Return the meaning of a 401 for the user. It does not reveal whether the organization exists."""
    organization = organization_in_url(answer.request.url.path)
    if organization is not None:
        return (
            f"you are not a member of an organization `{organization}`, or your login has expired; log in with `headgate auth login`, or "
            "set HEADGATE_TOKEN to a token of the organization"
        )
    return "your token or login is unknown to the server, expired or revoked; log in with `headgate auth login`, or set HEADGATE_TOKEN to a token"


def format_duration(seconds: int) -> str:
    """Return a duration as text: in seconds up to two minutes, above that in minutes, rounded up."""
    if seconds <= 2 * _MINUTE:
        return f"{seconds} {'second' if seconds == 1 else 'seconds'}"
    return f"{math.ceil(seconds / _MINUTE)} minutes"


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
