"""The API from the command line: where it is, with which token, and its problems as sentences."""

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from headgate.app.settings import HOST, default_settings
from headgate.cli.kept import kept_session

_WAIT = 600.0
"""Seconds; a statement may take its time."""

_PAGE = 500
"""So many entries of a list at once."""


class ApiError(Exception):
    """The API did not do what was asked, and says why."""


def call(method: str, path: str, *, body: Any = None, **query: Any) -> Any:
    """Call the API and return its answer. Raises `ApiError` with the problem's own words."""
    return _called(method, path, body, query).json()


def end(path: str) -> None:
    """Let go of what is there. Raises `ApiError` with the problem's own words."""
    _called("DELETE", path, None, {})


def every(path: str, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield every entry of a list, page after page. Raises `ApiError` with the problem's own words."""
    cursor: str | None = None
    while True:
        answer = call("GET", path, limit=_PAGE, cursor=cursor, **query)
        yield from answer["items"]
        cursor = answer["next"]
        if cursor is None:
            return


def at(*parts: str) -> str:
    """Return the path of these parts, whatever signs are in them."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def base() -> str:
    """Return the address of the deployment."""
    return os.environ.get("HEADGATE_URL") or f"http://{HOST}:{default_settings(os.environ).api_port}"


def token() -> str:
    """Return the token or session to call with. Raises `ApiError` where there is none."""
    if named := os.environ.get("HEADGATE_TOKEN"):
        return named
    if session := kept_session(base(), os.environ):
        return session
    kept = default_settings(os.environ).owner_token
    try:
        return kept.read_text(encoding="utf-8").strip()
    except OSError:
        raise ApiError(
            f"log in with `headgate login`, or set HEADGATE_TOKEN to a token; there is no owner's token in `{kept}` either"
        ) from None


def _called(method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
    answer = httpx.request(
        method,
        f"{base()}/api/v1{path}",
        json=body,
        params={key: value for key, value in query.items() if value is not None},
        headers={"authorization": f"Bearer {token()}"},
        timeout=_WAIT,
    )
    if answer.is_error:
        raise ApiError(problem_of(answer))
    return answer


def problem_of(answer: httpx.Response) -> str:
    """Return what an answer says is wrong."""
    try:
        body = answer.json()
    except ValueError:
        return f"the answer was {answer.status_code}, and not from Headgate"
    faults = "; ".join(f"{each['at']}: {each['fault']}" for each in body.get("faults", ()))
    return f"{body.get('detail', answer.status_code)}{f' ({faults})' if faults else ''}"
