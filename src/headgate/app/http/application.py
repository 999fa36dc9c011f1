"""The HTTP application: every door of the deployment on one port."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from headgate.app.deployment import Deployment
from headgate.app.http.lakes import Lakes, identifier, warehouse_of
from headgate.endpoints import auth
from headgate.endpoints.api import api_routes, openapi
from headgate.endpoints.authzen.fast_path import AtOnce
from headgate.endpoints.authzen.openapi import document
from headgate.endpoints.authzen.routes import AuthZen
from headgate.endpoints.common import idempotency, problems
from headgate.endpoints.common.context import CarriesOutRuns, Deployed
from headgate.endpoints.common.denials import record_denial
from headgate.endpoints.http import hosts
from headgate.endpoints.http.break_glass_header import BrokenGlass, Glass
from headgate.endpoints.http.organization_path import Tenants
from headgate.endpoints.http.read_your_writes import Fresh, Freshness
from headgate.endpoints.iceberg_rest import iceberg_router
from headgate.endpoints.iceberg_rest.request import DOOR
from headgate.endpoints.internal.guard import guard_router
from headgate.spark.sessions.registry import Sparks
from headgate.spark.sql.statement_store import KeptStatements
from headgate.spark.sql.statements import RunsStatements


def http_application(
    deployment: Deployment,
    sparks: Sparks,
    runner: CarriesOutRuns,
    statements: RunsStatements,
    health: Callable[[], Mapping[str, Any]],
) -> FastAPI:
    """Return the application of one deployment."""
    # No pages of the framework's: they load their scripts from elsewhere.
    app = FastAPI(title="Headgate", version="0.1.0", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.deployed = Deployed(
        organizations=deployment.organizations,
        identity=deployment.identity,
        audit=deployment.audit,
        runner=runner,
        statements=KeptStatements(statements, deployment.settings.sql),
        health=health,
        has_spark=sparks.serves,
        vault=deployment.vault,
        clusters=deployment.settings.clusters.names,
        egress=deployment.egress,
    )
    problems.install(app)
    idempotency.install(app)
    document(app)
    # The last one added comes first: the organization is known before anything is read for it.
    app.add_middleware(AuthZen)
    glass, freshness = Glass(), Freshness(deployment.organizations)
    app.state.freshness = freshness
    app.state.at_once = AtOnce(app.state.deployed, freshness, glass)
    app.add_middleware(BrokenGlass, glass=glass)
    app.add_middleware(Fresh, freshness=freshness)
    app.add_middleware(Tenants)
    hosts.install(app, deployment.settings.logins.address)
    app.router.routes.extend(api_routes())
    openapi.document(app)
    auth.install(app, deployment.entrance)
    app.include_router(guard_router(sparks, deployment.audit))
    organizations = deployment.organizations
    lakes = Lakes(partial(warehouse_of, deployment.settings), lambda: organizations.now, deployment.audit)
    app.include_router(
        iceberg_router(
            identifier(deployment.identity, organizations, sparks, lakes),
            lambda scope, denial: record_denial(scope, DOOR, denial),
        ),
        prefix="/iceberg",
    )
    # The framework would do this at the first request, which is then late, and in whichever thread that is.
    deque(iter_route_contexts(app.routes), maxlen=0)
    return app
