"""The doors as the network has them: who asks is told to logs and limits, and what the core counts to whoever watches."""

from dataclasses import dataclass

import anyio.to_thread
from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Scope

from headgate.app.deployment import Deployment
from headgate.control.identity import Identity
from headgate.control.ports import StoreError
from headgate.doors.cookies import in_cookie
from headgate.doors.http.around import around
from headgate.doors.http.metrics import Figures, Metrics
from headgate.doors.http.probes import MetricsAccess, Readiness
from headgate.doors.http.rates import Identify

_BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class Front:
    """An application as it is served, and whether it should be sent requests."""

    app: ASGIApp
    readiness: Readiness


def fronted(app: FastAPI, deployment: Deployment) -> Front:
    """Put in front of the doors what is the same for all of them."""
    settings = deployment.settings
    readiness = Readiness(lambda: _unready(deployment))
    front = around(
        app,
        identify=_identify(deployment.identity),
        readiness=readiness,
        metrics=Metrics(lambda: _figures(deployment)),
        limits=settings.limits,
        metrics_access=MetricsAccess(settings.metrics, settings.metrics_token),
        origins=settings.origins,
    )
    return Front(front, readiness)


def _identify(identity: Identity) -> Identify:
    async def identify(scope: Scope) -> str | None:
        secret = _secret(Request(scope))
        if secret is None:
            return None
        presented = identity.remembered(secret)
        if presented is None:
            # It may have to be looked up in the store, which may be slow: the others do not wait for that.
            presented = await anyio.to_thread.run_sync(identity.authenticate, secret)
        return presented.principal if presented else None

    return identify


def _secret(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret if scheme.lower() == _BEARER and secret else in_cookie(request)


def _unready(deployment: Deployment) -> str | None:
    try:
        deployment.organizations.refresh()
        deployment.home.store.head()
    except StoreError:
        return "the store cannot be used; the server's log says why"
    return None


def _figures(deployment: Deployment) -> Figures:
    opened = deployment.organizations.opened
    counts = [each.control.counts for each in opened]
    return Figures(
        allowed=sum(each.allowed for each in counts),
        denied=sum(each.denied for each in counts),
        appends=sum(each.appends for each in counts),
        conflicts=sum(each.conflicts for each in counts),
        head_reads=deployment.organizations.head_reads,
        audit_waiting=deployment.audit.waiting,
        revisions={each.id: each.control.snapshot.revision for each in opened},
    )
