"""All routes of the API, in the order of the OpenAPI document."""

from collections import deque
from collections.abc import Sequence
from functools import cache

from fastapi import APIRouter, Depends
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

from headgate.endpoints.api.access import (
    access_requests,
    agreements,
    assignments,
    change_requests,
    questions,
    roles,
    settings,
    what_if,
)
from headgate.endpoints.api.identity import groups, me, service_principals, teams, tokens, users
from headgate.endpoints.api.operations import audit, deployment, installed_models, model_changes, notifications, status
from headgate.endpoints.api.pipelines import charts, lineage, pipelines, runs, triggers
from headgate.endpoints.api.resources import aliases, connections, models, organizations, projects, resources
from headgate.endpoints.api.sql import sql
from headgate.endpoints.common.indexed_router import API_PATH
from headgate.endpoints.common.query_parameters import require_known_parameters
from headgate.endpoints.common.route_metadata import operation_id

_MODULES = (
    status,
    me,
    organizations,
    deployment,
    installed_models,
    model_changes,
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
    aliases,
    connections,
    pipelines,
    triggers,
    runs,
    charts,
    lineage,
    agreements,
    change_requests,
    access_requests,
    notifications,
    questions,
    what_if,
    sql,
    audit,
)


@cache
def api_routes() -> Sequence[BaseRoute]:
    """Return all routes below `/api/v1`. They are created once for all deployments, because that takes a second."""
    router = APIRouter(generate_unique_id_function=operation_id)
    for module in _MODULES:
        router.include_router(module.router, prefix=API_PATH, dependencies=[Depends(require_known_parameters)])
    # Build all routes before they are returned: see the end of `http_application`, which does the same for the other routes.
    deque(iter_route_contexts(router.routes), maxlen=0)
    return router.routes
