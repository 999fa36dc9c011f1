"""Probes for the operator: liveness (`/healthz`), readiness (`/readyz`) and metrics (`/metrics`)."""

import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

import anyio.to_thread
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response, with_retry_after
from headgate.endpoints.common.request_scope import ROUTE
from headgate.endpoints.http.metrics import Metrics
from headgate.endpoints.http.request_context import find_header

READY_FOR = 1.0
"""Seconds for which a readiness result is cached: frequent probes must not load the store."""
PATHS = ("/healthz", "/readyz", "/metrics")


class Readiness:
    """Readiness: whether the server should receive requests now."""

    def __init__(self, unready: Callable[[], str | None], clock: Callable[[], float] = time.monotonic) -> None:
        """`unready` returns the fault as a sentence, or None; it may wait for the store and is called in a thread."""
        self._unready = unready
        self._clock = clock
        self._known: tuple[float, str | None] | None = None
        self.details: Callable[[], Mapping[str, str]] = dict
        """Returns the states of Spark and its sandbox. They do not decide whether the server is ready."""
        self.draining = False

    async def find_not_ready_reason(self) -> str | None:
        """Return why the server is not ready, or None."""
        if self.draining:
            return "the server is shutting down"
        if self._known is None or self._clock() - self._known[0] > READY_FOR:
            self._known = (self._clock(), await anyio.to_thread.run_sync(self._unready))
        return self._known[1]


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """Access to the metrics: from loopback addresses, with the token, or open to any client that can connect."""

    to: Literal["loopback", "token", "open"] = "loopback"
    token: str = ""

    def refusal(self, scope: Scope) -> Response | None:
        """Return the refusal to show the metrics, or None."""
        if self.to == "loopback" and not _is_local(scope):
            return problem_response(
                404,
                "not-found",
                "the metrics can be read only on the server's own machine; set HEADGATE_METRICS to allow others",
            )
        if self.to == "token" and not self._has_token(scope):
            answer = problem_response(
                401,
                "unauthenticated",
                "the token for the metrics is missing or wrong; send the value of the setting HEADGATE_METRICS_TOKEN as `Authorization: Bearer <token>`",
            )
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = find_header(scope, b"authorization") or b""
        return bool(self.token) and hmac.compare_digest(given, b"Bearer " + self.token.encode())


class Probes:
    """Answers `/healthz`, `/readyz` and `/metrics`; passes all other requests on."""

    def __init__(self, app: ASGIApp, readiness: Readiness, metrics: Metrics, access: MetricsAccess) -> None:
        self._app = app
        self._readiness = readiness
        self._metrics = metrics
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] not in PATHS:
            await self._app(scope, receive, send)
            return
        scope[ROUTE] = scope["path"]
        answer = await self._answer(scope)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            answer = problem_response(
                405, "method-not-allowed", f"`{scope['path']}` allows only GET and HEAD; use one of them"
            )
            answer.headers["allow"] = "GET, HEAD"
            return answer
        if scope["path"] == "/healthz":
            return JSONResponse({"status": "alive"})
        if scope["path"] == "/readyz":
            return await self._ready()
        return self._access.refusal(scope) or Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _ready(self) -> Response:
        why = await self._readiness.find_not_ready_reason()
        if why is None:
            return JSONResponse({"status": "ready", **self._readiness.details()})
        return with_retry_after(problem_response(503, "not-ready", why))


def _is_local(scope: Scope) -> bool:
    client = scope.get("client")
    try:
        return client is not None and ip_address(client[0]).is_loopback
    except ValueError:
        return False
