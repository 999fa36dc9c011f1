"""The application behind its middleware: identifies clients for logs and rate limits, and exports the core's metrics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio.to_thread
from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Scope

from headgate.app.deployment import Deployment
from headgate.control.authentication.authenticator import Authenticator
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization import Organizations
from headgate.endpoints.common.cookies import bearer_secret_of, in_cookie
from headgate.endpoints.common.problems import NO_STORE
from headgate.endpoints.http.fast_path import FastPath
from headgate.endpoints.http.metrics import Figures, Metrics
from headgate.endpoints.http.middleware_stack import list_observers, wrap
from headgate.endpoints.http.probes import MetricsAccess, Readiness
from headgate.endpoints.http.rate_limits import IdentifyClient, of_principals
from headgate.facts.caller import Caller
from headgate.spark.sessions.sessions import HANDLE_PREFIX

DeploymentSession = Callable[[str], Caller | None]
SparkFigures = Callable[[], Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class ServedApp:
    """An application as it is served, with its fast path and its readiness."""

    app: ASGIApp
    express: FastPath
    readiness: Readiness


def build_front(
    app: FastAPI, deployment: Deployment, session: DeploymentSession = lambda _: None, spark: SparkFigures = dict
) -> ServedApp:
    """Return the endpoints behind the middleware that all of them share.

    `session` returns the caller of a Spark session, and `spark` the counters of the gateway.
    """
    settings = deployment.settings
    readiness = Readiness(lambda: _unready(deployment))
    metrics, principals = Metrics(lambda: _figures(deployment, spark)), of_principals(settings.limits)
    express = FastPath(app.state.fast_path, principals, list_observers(metrics), settings.limits, hosts=app.state.hosts)
    front = wrap(
        app,
        identify=_identify(deployment, session),
        readiness=readiness,
        metrics=metrics,
        limits=settings.limits,
        metrics_access=MetricsAccess(settings.metrics, settings.metrics_token),
        origins=settings.origins,
        principals=principals,
    )
    return ServedApp(front, express, readiness)


def _identify(deployment: Deployment, session: DeploymentSession) -> IdentifyClient:
    identity, organizations = deployment.identity, deployment.organizations

    async def identify(scope: Scope) -> str | None:
        secret = _secret(Request(scope))
        if secret is None:
            return None
        if secret.startswith(HANDLE_PREFIX):
            # A driver calls for a session: its requests count as those of the session's caller.
            caller = session(secret)
            return caller.principal if caller else None
        presented = identity.cached(secret)
        if presented is None or not _is_at_hand(organizations, presented):
            # The store may be slow: a lookup in a thread does not block the requests of other clients.
            return await anyio.to_thread.run_sync(_find_active_principal, identity, organizations, secret)
        return _select_active_principal(organizations, presented)

    return identify


def _find_active_principal(identity: Authenticator, organizations: Organizations, secret: str) -> str | None:
    try:
        presented = identity.authenticate(secret)
        return _select_active_principal(organizations, presented) if presented else None
    except StoreError:
        # The request counts against its address; the endpoint reports that the store is unavailable.
        return None


def _is_at_hand(organizations: Organizations, presented: AuthenticatedPrincipal) -> bool:
    return presented.organization is None or organizations.if_open(presented.organization) is not None


def _select_active_principal(organizations: Organizations, presented: AuthenticatedPrincipal) -> str | None:
    """Return the principal of a login, or of a token that is valid in its organization now; else None."""
    if presented.organization is not None and organizations.open(presented.organization).caller(presented) is None:
        return None
    return presented.principal


def _secret(request: Request) -> str | None:
    return bearer_secret_of(request) or in_cookie(request)


def _unready(deployment: Deployment) -> str | None:
    try:
        deployment.organizations.refresh()
        deployment.organizations.open(DEPLOYMENT)
        deployment.stores.check()
    except StoreError:
        return NO_STORE
    return deployment.tasks.not_ready_reason()


def _figures(deployment: Deployment, spark: SparkFigures) -> Figures:
    opened = deployment.organizations.loaded_organizations
    counts = [each.control.counts for each in opened]
    return Figures(
        allowed=sum(each.allowed for each in counts),
        denied=sum(each.denied for each in counts),
        appends=sum(each.appends for each in counts),
        conflicts=sum(each.conflicts for each in counts),
        head_reads=deployment.organizations.head_reads,
        audit_waiting=deployment.audit.backlog,
        task_deaths=deployment.tasks.deaths,
        tasks_stopped=tuple(each.name for each in deployment.tasks.list_stopped()),
        spark=spark(),
        revisions={each.id: each.control.snapshot.revision for each in opened if not each.control.is_refused},
    )
