"""The order in which everything stands around the doors."""

from collections.abc import Callable

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from headgate.doors.http.bodies import Bodies
from headgate.doors.http.deadlines import Deadlines
from headgate.doors.http.exchange import Exchange, Exchanges
from headgate.doors.http.expectations import Expectations
from headgate.doors.http.framing import Framing
from headgate.doors.http.limits import Limits
from headgate.doors.http.metrics import Metrics
from headgate.doors.http.probes import MetricsAccess, Probes, Readiness
from headgate.doors.http.rates import Buckets, Identify, Rates, of_principals
from headgate.doors.http.security import browser_headers
from headgate.doors.http.told import tell

_LIMITS = Limits()
_NEAR = MetricsAccess()
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_EXPOSED = ("etag", "location", "retry-after", "x-request-id")


def around(
    app: ASGIApp,
    *,
    identify: Identify,
    readiness: Readiness,
    metrics: Metrics,
    limits: Limits = _LIMITS,
    metrics_access: MetricsAccess = _NEAR,
    origins: tuple[str, ...] = (),
    principals: Buckets | None = None,
) -> ASGIApp:
    """Return the application as the network may have it. Pages of `origins` (`https://app.example.com`) may call it.

    `principals` are the buckets of those who are known, where something else takes from them too.
    """
    app = Deadlines(app, limits.request_seconds)
    app = Bodies(app, limits)
    app = Rates(app, identify, limits, principals or of_principals(limits))
    if origins:
        app = CORSMiddleware(
            app, origins, _METHODS, ("*",), allow_credentials=False, expose_headers=_EXPOSED, max_age=600
        )
    app = Probes(app, readiness, metrics, metrics_access)
    app = Framing(app, limits)
    return Expectations(Exchanges(app, browser_headers, observers(metrics)))


def observers(metrics: Metrics) -> tuple[Callable[[Exchange], None], ...]:
    """Return what hears of each answer."""
    return metrics.observe, tell
