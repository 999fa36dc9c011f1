"""The middleware stack: the order of the middlewares around the endpoints."""

from collections.abc import Callable

from starlette.types import ASGIApp

from headgate.endpoints.http.access_log import log_request
from headgate.endpoints.http.body_limits import BodyMiddleware
from headgate.endpoints.http.browser_headers import browser_headers
from headgate.endpoints.http.cors import allow_origins
from headgate.endpoints.http.expect_continue import Expectations
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.metrics import Metrics
from headgate.endpoints.http.probes import MetricsAccess, Probes, Readiness
from headgate.endpoints.http.rate_limits import IdentifyClient, RateLimitMiddleware, TokenBuckets, of_principals
from headgate.endpoints.http.request_context import Exchanges, RequestContext
from headgate.endpoints.http.request_smuggling import RequestHeadMiddleware
from headgate.endpoints.http.timeouts import TimeoutMiddleware

_LIMITS = Limits()
_NEAR = MetricsAccess()


def wrap(
    app: ASGIApp,
    *,
    identify: IdentifyClient,
    readiness: Readiness,
    metrics: Metrics,
    limits: Limits = _LIMITS,
    metrics_access: MetricsAccess = _NEAR,
    origins: tuple[str, ...] = (),
    principals: TokenBuckets | None = None,
) -> ASGIApp:
    """Return the application with all middlewares. Pages of `origins` (`https://app.example.com`) may call it.

    `principals` are the rate-limit buckets of authenticated principals, if another component shares them.
    """
    app = TimeoutMiddleware(app, limits.request_seconds)
    app = BodyMiddleware(app, limits)
    app = RateLimitMiddleware(app, identify, limits, principals or of_principals(limits))
    if origins:
        app = allow_origins(app, origins)
    app = Probes(app, readiness, metrics, metrics_access)
    app = RequestHeadMiddleware(app, limits)
    return Expectations(Exchanges(app, browser_headers, list_observers(metrics)))


def list_observers(metrics: Metrics) -> tuple[Callable[[RequestContext], None], ...]:
    """Return the functions to call after each response."""
    return metrics.observe, log_request
