"""The HTTP API: one route per verb of a noun, RFC 9457 problems, the caller's token on every request but `/health`."""

from fastapi import APIRouter

from headgate.doors.api import (
    assignments,
    connections,
    groups,
    log,
    me,
    nouns,
    pipelines,
    questions,
    resources,
    service_principals,
    sql,
    status,
    tokens,
    users,
    what_if,
)

_MODULES = (
    status,
    me,
    users,
    service_principals,
    groups,
    assignments,
    tokens,
    resources,
    nouns,
    connections,
    pipelines,
    questions,
    what_if,
    sql,
    log,
)


def api_router() -> APIRouter:
    """Return every route below `/api/v1`."""
    router = APIRouter(prefix="/api/v1")
    for module in _MODULES:
        router.include_router(module.router)
    return router
