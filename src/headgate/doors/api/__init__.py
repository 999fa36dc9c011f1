"""The HTTP API: one route per verb of a noun, RFC 9457 problems, the caller's token on every request but `/health`."""

from fastapi import APIRouter

from headgate.doors.api import (
    access,
    assignments,
    audit,
    change_requests,
    charts,
    connections,
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


def api_router() -> APIRouter:
    """Return every route below `/api/v1`."""
    router = APIRouter(prefix="/api/v1")
    for module in _MODULES:
        router.include_router(module.router)
    return router
