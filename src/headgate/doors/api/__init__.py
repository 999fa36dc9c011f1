"""The HTTP API: one route per verb of a noun, RFC 9457 problems, the caller's token on every request but `/health`."""

from fastapi import APIRouter

from headgate.doors.api import assignments, groups, log, people, pipelines, questions, resources, sql, status, tokens

_MODULES = (status, people, tokens, groups, assignments, resources, pipelines, questions, sql, log)


def api_router() -> APIRouter:
    """Return every route below `/api/v1`."""
    router = APIRouter(prefix="/api/v1")
    for module in _MODULES:
        router.include_router(module.router)
    return router
