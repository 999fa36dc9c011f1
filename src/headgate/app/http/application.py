"""The HTTP application: every endpoint of the deployment on one port."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from headgate.app.deployment import Deployment
from headgate.app.http.lakes import CatalogAuthenticator, Lakes, warehouse_of
from headgate.endpoints import auth
from headgate.endpoints.api import openapi
from headgate.endpoints.api.routes import api_routes
from headgate.endpoints.authzen.fast_path import TARGETS, AuthZenFastPath
from headgate.endpoints.authzen.openapi import add_authzen_paths
from headgate.endpoints.authzen.routes import AuthZen
from headgate.endpoints.common import idempotency, problems
from headgate.endpoints.common.context import AppState, RunNotifier
from headgate.endpoints.common.route_metadata import operation_id
from headgate.endpoints.http import hosts
from headgate.endpoints.http.break_glass_header import BreakGlassHeader, BreakGlassStatus
from headgate.endpoints.http.organization_path import OrganizationPathMiddleware
from headgate.endpoints.http.read_your_writes import FreshnessBarrier, FreshnessMiddleware
from headgate.endpoints.iceberg_rest import iceberg_router
from headgate.endpoints.internal.guard import DECIDE, guard_router
from headgate.endpoints.internal.guard_fast_path import GuardFastPath
from headgate.spark.sessions.registry import SparkRegistry
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import StatementRunner


def http_application(
    deployment: Deployment,
    freshness: FreshnessBarrier,
    sparks: SparkRegistry,
    runner: RunNotifier,
    statements: StatementRunner,
    health: Callable[[], Mapping[str, Any]],
) -> FastAPI:
    """Return the application of one deployment."""
    # No documentation pages of FastAPI: they load scripts from other hosts.
    app = FastAPI(
        title="Headgate",
        version="0.1.0",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=operation_id,
    )
    app.state.deployed = AppState(
        organizations=deployment.organizations,
        identity=deployment.identity,
        audit=deployment.audit,
        runner=runner,
        statements=StatementStore(statements, deployment.settings.sql),
        health=health,
        has_spark=sparks.serves,
        vault=deployment.vault,
        clusters=deployment.settings.clusters.names,
        egress=deployment.egress,
    )
    problems.install_problem_handlers(app)
    idempotency.install_idempotency(app)
    add_authzen_paths(app)
    # The middleware that is added last runs first: the organization is known before anything is read for it.
    app.add_middleware(AuthZen)
    glass = BreakGlassStatus()
    authzen = AuthZenFastPath(app.state.deployed, freshness, glass)
    guard = GuardFastPath(sparks, freshness)
    app.state.fast_path = {DECIDE.encode(): guard, **dict.fromkeys(TARGETS, authzen)}
    app.add_middleware(BreakGlassHeader, glass=glass)
    app.add_middleware(FreshnessMiddleware, freshness=freshness)
    app.add_middleware(OrganizationPathMiddleware)
    hosts.install_hosts(app, deployment.settings.logins.address)
    app.router.routes.extend(api_routes())
    openapi.openapi_document(app)
    auth.install_auth(app, deployment.auth_services)
    app.include_router(guard_router(sparks, deployment.audit))
    organizations = deployment.organizations
    lakes = Lakes(partial(warehouse_of, deployment.settings), lambda: organizations.now)
    authenticator = CatalogAuthenticator(app.state.deployed.callers, sparks, lakes)
    app.include_router(iceberg_router(authenticator.authenticate), prefix="/iceberg")
    # FastAPI would compile the routes at the first request, which would delay it, and in any thread.
    deque(iter_route_contexts(app.routes), maxlen=0)
    return app
