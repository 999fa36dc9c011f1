"""The HTTP API: one route per verb of a noun, RFC 9457 problems, the caller's token on every request but `/health`."""

from collections import deque
from collections.abc import Sequence
from functools import cache

from fastapi import APIRouter
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

from headgate.doors.api import (
    access,
    assignments,
    audit,
    change_requests,
    charts,
    connections,
    deployment,
    groups,
    lineage,
    me,
    models,
    notifications,
    nouns,
    organizations,
    pipelines,
    projects,
    questions,
    requests,
    resources,
    roles,
    running,
    runs,
    service_principals,
    settings,
    sql,
    status,
    teams,
    tokens,
    users,
    what_if,
)

_MODULES = (
    status,
    me,
    organizations,
    deployment,
    users,
    service_principals,
    groups,
    teams,
    roles,
    assignments,
    tokens,
    settings,
    projects,
    models,
    resources,
    nouns,
    connections,
    pipelines,
    running,
    runs,
    charts,
    lineage,
    access,
    change_requests,
    requests,
    notifications,
    questions,
    what_if,
    sql,
    audit,
)


@cache
def api_routes() -> Sequence[BaseRoute]:
    """Return every route below `/api/v1`: put together once, which takes a second and says nothing of one deployment."""
    router = APIRouter()
    for module in _MODULES:
        router.include_router(module.router, prefix="/api/v1")
    # Whole before it is handed out: see the end of `http_application`, which does this for what else there is.
    deque(iter_route_contexts(router.routes), maxlen=0)
    return router.routes
