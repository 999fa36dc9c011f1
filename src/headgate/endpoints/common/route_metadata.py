"""OpenAPI metadata of a route: the actions that it needs, or why it needs none. A test checks that every route has it."""

from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

NEEDS, PUBLIC, OWN = "x-headgate-needs", "x-headgate-public", "x-headgate-own"

DISCOVER = "discover"
"""The requirement of a route that returns only resources which the caller may discover: at least one action is allowed."""


class Problem(BaseModel):
    """An RFC 9457 problem document."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


def operation_id(route: APIRoute) -> str:
    """Return the operation id of a route in the OpenAPI document: its name, which a generated client uses for the method."""
    return route.name


_PROBLEM = {"model": Problem, "content": {"application/problem+json": {}}}
_WORDS = {
    400: "The request is malformed.",
    401: "The token or session is missing, unknown or expired.",
    403: "The caller may not do this. The problem states the missing privilege if the caller may discover the resource.",
    404: "The resource does not exist, or the caller may not discover it.",
    409: "The request conflicts with the current state of the resource.",
    412: "The resource has changed since the version in `If-Match`.",
    413: "The body is too large.",
    422: "A parameter or a field of the body is invalid.",
    429: "Too many requests. Retry after the seconds in `Retry-After`.",
    431: "The URL or the headers are too long.",
    503: "The store or Spark is unavailable. Retry after the seconds in `Retry-After`.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {code: {**_PROBLEM, "description": text} for code, text in _WORDS.items()}
"""The error responses of every route."""


def document_actions(*actions: str) -> dict[str, Any]:
    """Return the metadata of a route that needs these canonical actions; `{type}` is the type of the request's resource."""
    return _says(NEEDS, list(actions))


def public(reason: str) -> dict[str, Any]:
    """Return the metadata of a route that needs no authentication, with the reason."""
    return _says(PUBLIC, reason)


def caller_only(reason: str) -> dict[str, Any]:
    """Return the metadata of a route that needs an authenticated caller and no action, with the reason."""
    return _says(OWN, reason)


def _says(key: str, what: object) -> dict[str, Any]:
    return {"openapi_extra": {key: what}, "responses": PROBLEMS}
