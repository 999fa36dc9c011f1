"""The API from the command line: where it is, with which token, and its problems as sentences."""

import os
from typing import Any

import httpx

from headgate.app.settings import HOST, default_settings

_WAIT = 600.0
"""Seconds; a statement may take its time."""


class ApiError(Exception):
    """The API did not do what was asked, and says why."""


def call(method: str, path: str, *, body: Any = None, **query: Any) -> Any:
    """Call the API and return its answer. Raises `ApiError` with the problem's own words."""
    answer = httpx.request(
        method,
        f"{_base()}/api/v1{path}",
        json=body,
        params={key: value for key, value in query.items() if value is not None},
        headers={"authorization": f"Bearer {_token()}"},
        timeout=_WAIT,
    )
    if answer.is_error:
        raise ApiError(_problem(answer))
    return answer.json()


def _base() -> str:
    """Return the address of the deployment."""
    return os.environ.get("HEADGATE_URL") or f"http://{HOST}:{default_settings(os.environ).api_port}"


def _token() -> str:
    if named := os.environ.get("HEADGATE_TOKEN"):
        return named
    kept = default_settings(os.environ).owner_token
    try:
        return kept.read_text(encoding="utf-8").strip()
    except OSError:
        raise ApiError(f"set HEADGATE_TOKEN to a token; there is no owner's token in `{kept}` either") from None


def _problem(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except ValueError:
        return f"the answer was {answer.status_code}, and not from Headgate"
    faults = "; ".join(f"{each['at']}: {each['fault']}" for each in body.get("faults", ()))
    return f"{body.get('detail', answer.status_code)}{f' ({faults})' if faults else ''}"
