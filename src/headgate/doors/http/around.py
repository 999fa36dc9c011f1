"""The order in which everything stands around the doors."""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from headgate.doors.http.bodies import Bodies
from headgate.doors.http.deadlines import Deadlines
from headgate.doors.http.exchange import Exchanges
from headgate.doors.http.framing import Framing
from headgate.doors.http.limits import Limits
from headgate.doors.http.metrics import Metrics
from headgate.doors.http.probes import MetricsAccess, Probes, Readiness
from headgate.doors.http.rates import Identify, Rates
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
) -> ASGIApp:
    """Return the application as the network may have it. Pages of `origins` (`https://app.example.com`) may call it."""
    app = Deadlines(app, limits.request_seconds)
    app = Bodies(app, limits)
    app = Rates(app, identify, limits)
    if origins:
        app = CORSMiddleware(
            app, origins, _METHODS, ("*",), allow_credentials=False, expose_headers=_EXPOSED, max_age=600
        )
    app = Probes(app, readiness, metrics, metrics_access)
    app = Framing(app, limits)
    return Exchanges(app, browser_headers, (metrics.observe, tell))
