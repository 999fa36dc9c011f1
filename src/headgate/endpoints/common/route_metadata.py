"""What a route says of itself: which action it needs, or why it needs none. A test walks the routes and reads it."""

from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

NEEDS, PUBLIC, OWN = "x-headgate-needs", "x-headgate-public", "x-headgate-own"

DISCOVER = "discover"
"""What shows only what the caller may discover: any action on it is allowed."""


class Problem(BaseModel):
    """An RFC 9457 problem document."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


def operation_id(route: APIRoute) -> str:
    """Return the id of a route's operation in the OpenAPI document: its name, as a generated client calls the method."""
    return route.name


_PROBLEM = {"model": Problem, "content": {"application/problem+json": {}}}
_WORDS = {
    400: "The request is not well formed.",
    401: "Nobody is known by this token or session.",
    403: "The caller may not do this; the document says what is missing, to who may know the resource.",
    404: "There is no such thing that the caller may see.",
    409: "It conflicts with what is there.",
    412: "It has changed since the version in `If-Match`.",
    413: "The body is too large.",
    422: "An argument cannot be used.",
    429: "Too many requests; `Retry-After` says when to come again.",
    503: "The store or Spark cannot be used now; `Retry-After` says when to come again.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {code: {**_PROBLEM, "description": text} for code, text in _WORDS.items()}
"""What any route may answer besides its own."""


def document_actions(*actions: str) -> dict[str, Any]:
    """Say which canonical actions a route needs; `{type}` stands for the type of the resource that it is about."""
    return _says(NEEDS, list(actions))


def public(reason: str) -> dict[str, Any]:
    """Say why a route needs no caller at all."""
    return _says(PUBLIC, reason)


def caller_only(reason: str) -> dict[str, Any]:
    """Say why a route needs a caller and no action: it is about the caller alone."""
    return _says(OWN, reason)


def _says(key: str, what: object) -> dict[str, Any]:
    return {"openapi_extra": {key: what}, "responses": PROBLEMS}
