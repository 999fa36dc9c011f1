"""Rate limits in requests per second: for each principal, and for each address of requests without a valid credential."""

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.common.request_scope import KNOWN
from headgate.endpoints.http.limits import Limits

_REMEMBERED = 10_000

IdentifyClient = Callable[[Scope], Awaitable[str | None]]
"""Returns the principal whose rate a request counts against, or None without a valid credential.

Called once per request, after its head was checked.
"""


class TokenBuckets:
    """Token buckets by key. Only the most recently used are kept: a bucket that was dropped is full again."""

    def __init__(self, rate: float, burst_seconds: float, remembered: int = _REMEMBERED) -> None:
        """`rate` is in requests per second; 0 means no limit."""
        self._rate = rate
        self._full = max(1.0, rate * burst_seconds)
        self._remembered = remembered
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float) -> float:
        """Consume a token and return 0, or return the seconds until one is available."""
        if not self._rate:
            return 0.0
        left, at = self._left.pop(key, (self._full, now))
        left = min(self._full, left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[key] = (left if wait else left - 1, now)
        if len(self._left) > self._remembered:
            self._left.popitem(last=False)
        return wait

    def put_back(self, key: str) -> None:
        """Return a token that was taken for a request which is counted elsewhere."""
        if key in self._left:
            left, at = self._left[key]
            self._left[key] = (min(self._full, left + 1), at)


def of_principals(limits: Limits) -> TokenBuckets:
    """Return the buckets for requests of authenticated principals."""
    return TokenBuckets(limits.principal_rate, limits.burst_seconds)


class RateLimitMiddleware:
    """Identifies the client of a request and applies its rate limit."""

    def __init__(
        self,
        app: ASGIApp,
        identify: IdentifyClient,
        limits: Limits,
        principals: TokenBuckets,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._identify = identify
        self._principals = principals
        self._addresses = TokenBuckets(limits.address_rate, limits.burst_seconds)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        wait = await self._wait(scope) if scope["type"] == "http" else 0.0
        if not wait:
            await self._app(scope, receive, send)
            return
        seconds = math.ceil(wait)
        answer = problem_response(429, "too-many-requests", f"rate limit exceeded; retry in {seconds} s")
        answer.headers["retry-after"] = str(seconds)
        await answer(scope, receive, send)

    async def _wait(self, scope: Scope) -> float:
        known = await self._identify(scope)
        scope[KNOWN] = known is not None
        if known is not None:
            return self._principals.take(known, self._clock())
        return self._addresses.take(network_of(scope["client"][0] if scope.get("client") else ""), self._clock())


@lru_cache(_REMEMBERED)
def network_of(host: str) -> str:
    """Return the key of an address: an IPv4 address itself, or the /64 network of an IPv6 address, which one customer has."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return str(ip_network(f"{host}/64", strict=False)) if isinstance(address, IPv6Address) else host
