"""The API from the command line: where it is, with which token, and its problems as sentences."""

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from headgate.app.settings.settings import default_settings
from headgate.cli.deployment_url import configured_url, deployment_address, organization_in_url
from headgate.cli.errors import ApiError
from headgate.cli.session_file import kept_session
from headgate.control.egress.loopback import is_loopback

__all__ = [
    "ApiError",
    "api_path",
    "configured_url",
    "describe_credential",
    "every",
    "format_revision",
    "given_fields",
    "problem_of",
    "require_token",
    "send",
    "send_delete",
    "send_request",
    "stored_credential",
]

_WAIT = 600.0
"""Seconds; a statement may take its time."""

_PAGE = 500
"""So many entries of a list at once."""

_PROBLEM = "urn:headgate:problem:"
_UNKNOWN_CALLER, _TOO_OFTEN = f"{_PROBLEM}unauthenticated", f"{_PROBLEM}too-often"
_MINUTE = 60


def send_request(method: str, path: str, *, body: Any = None, **query: Any) -> Any:
    """Call the API and return its answer. Raises `ApiError` with the problem's own words."""
    return _called(method, path, body, query).json()


def send_delete(path: str) -> None:
    """Let go of what is there. Raises `ApiError` with the problem's own words."""
    send("DELETE", path)


def send(method: str, path: str, *, body: Any = None) -> None:
    """Call the API where its answer has no body. Raises `ApiError` with the problem's own words."""
    _called(method, path, body, {})


def every(path: str, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield every entry of a list, page after page. Raises `ApiError` with the problem's own words."""
    cursor: str | None = None
    while True:
        answer = send_request("GET", path, limit=_PAGE, cursor=cursor, **query)
        yield from answer["items"]
        cursor = answer["next"]
        if cursor is None:
            return


def api_path(*parts: str) -> str:
    """Return the path of these parts, whatever signs are in them. Raises `ApiError` for an empty one: it would name all of them."""
    if not all(parts):
        raise ApiError("a name or an id is empty; write it")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def given_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body that the user has given."""
    return {key: value for key, value in fields.items() if value not in (None, [])}


def format_revision(answer: Mapping[str, Any]) -> str:
    """Return the revision of an answer, as commands print it."""
    return f"revision {answer['revision']}"


def require_token() -> str:
    """Return the token or session to call with. Raises `ApiError` where there is none."""
    return stored_credential()[0]


def stored_credential() -> tuple[str, str]:
    """Return the token or session to call with, and where it is from. Raises `ApiError` where there is none."""
    if named := os.environ.get("HEADGATE_TOKEN"):
        return named, "the token in HEADGATE_TOKEN"
    if session := kept_session(configured_url(), os.environ):
        return session, "the session of `headgate auth login`"
    kept = default_settings(os.environ).owner_token
    if not is_loopback(urlsplit(configured_url()).hostname or ""):
        raise ApiError(
            f"log in with `headgate auth login`, or set HEADGATE_TOKEN to a token; the owner's token in `{kept}` is sent to this machine only"
        )
    try:
        return kept.read_text(encoding="utf-8").strip(), f"the owner's token in `{kept}`"
    except OSError:
        raise ApiError(
            f"log in with `headgate auth login`, or set HEADGATE_TOKEN to a token; there is no owner's token in `{kept}` either"
        ) from None


def describe_credential() -> str:
    """Return which credential the next command uses, as a clause."""
    try:
        return f"commands now use {stored_credential()[1]}"
    except ApiError:
        return "no command has a credential now"


def _called(method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
    answer = httpx.request(
        method,
        f"{configured_url()}/api/v1{path}",
        json=body,
        params={key: value for key, value in query.items() if value is not None},
        headers={"authorization": f"Bearer {require_token()}"},
        timeout=_WAIT,
    )
    if not answer.is_success:
        raise ApiError(_choice(answer) or problem_of(answer))
    return answer


def _choice(answer: httpx.Response) -> str:
    """Return how to choose an organization, for a caller that is in several; else nothing."""
    several = _document(answer).get("organizations", ())
    if answer.status_code != httpx.codes.BAD_REQUEST or len(several) < 2:  # noqa: PLR2004 (of one nothing is chosen)
        return ""
    where, sent = deployment_address(), {"authorization": answer.request.headers["authorization"]}
    listed = _document(httpx.get(f"{where}/api/v1/organizations", params={"limit": _PAGE}, headers=sent)).get(
        "items", ()
    )
    names = [each["name"] for each in listed] or several
    ways = (f"`export HEADGATE_URL={where}/o/{quote(name, safe='')}`" for name in names)
    return f"you are in several organizations; choose one: {' or '.join(ways)}"


def problem_of(answer: httpx.Response) -> str:
    """Return what an answer says is wrong."""
    body = _document(answer)
    if not body:
        return f"the answer of `{answer.request.url}` was {answer.status_code}, and not from Headgate"
    if body.get("type") == _UNKNOWN_CALLER and "authorization" in answer.request.headers:
        return _unknown_caller(answer)
    wait = answer.headers.get("retry-after", "")
    if body.get("type") == _TOO_OFTEN and wait.isdecimal():
        return f"there were too many attempts; try again in {_duration(int(wait))}"
    faults = "; ".join(f"{each['at']}: {each['fault']}" for each in body.get("faults", ()))
    return f"{body.get('detail', answer.status_code)}{f' ({faults})' if faults else ''}"


def _unknown_caller(answer: httpx.Response) -> str:
    """Return what a 401 means to who calls: nothing tells whether there is such an organization."""
    organization = organization_in_url(answer.request.url.path)
    if organization is not None:
        return (
            f"you are not in an organization `{organization}`, or your login has ended; log in with `headgate auth login`, or "
            "set HEADGATE_TOKEN to a token of the organization"
        )
    return "your token or login is not known there, or has ended; log in with `headgate auth login`, or set HEADGATE_TOKEN to a token"


def _duration(seconds: int) -> str:
    """Return a wait as people say it: in seconds up to two minutes, then in minutes."""
    if seconds <= 2 * _MINUTE:
        return f"{seconds} {'second' if seconds == 1 else 'seconds'}"
    return f"{math.ceil(seconds / _MINUTE)} minutes"


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
