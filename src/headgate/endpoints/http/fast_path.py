"""Fast path: a plain request with an already verified token is answered without the ASGI stack.

It needs no task, no messages and one write. All other requests take the normal path, which serves them as if there were
no fast path: an unusual head, an incomplete body, a caller that must be looked up, a slow question, an error response.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from headgate.endpoints.http.browser_headers import browser_headers
from headgate.endpoints.http.hosts import Hosts
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import TokenBuckets
from headgate.endpoints.http.request_context import RawHeader, RequestContext, sane_id
from headgate.untrusted_input.json_shape import too_deep, too_wide

_NEEDED = frozenset({b"authorization", b"content-length", b"host"})
_OTHERWISE = frozenset({b"expect", b"origin", b"transfer-encoding", b"upgrade", b"x-forwarded-proto"})
"""Headers that change how a response is sent: a request with one takes the normal path."""

_BEARER = b"Bearer "
_LARGE = 64 * 1024
"""The largest body on the fast path, in bytes: parsing a larger one would delay other requests."""


class FastResponse(NamedTuple):
    """A response: its body, the template of its route, its content type, and the id of its organization."""

    body: bytes
    route: str
    content_type: str
    organization: str


class FastPathHandler(Protocol):
    """An endpoint that can answer some requests on the fast path."""

    def knows(self, secret: str) -> str | None:
        """Return the id of the secret's principal; None if the secret is not cached."""
        ...

    def answer(
        self, target: bytes, headers: Mapping[bytes, bytes], body: bytes, secret: str, request: str
    ) -> FastResponse | None:
        """Return the response if it is a success that needed no waiting; else None, and nothing was recorded."""
        ...


class FastPath:
    """Applies the limits of the normal path to a request, and reports its response to the same observers."""

    def __init__(
        self,
        handlers: Mapping[bytes, FastPathHandler],
        principals: TokenBuckets,
        observers: Sequence[Callable[[RequestContext], None]],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        hosts: Hosts | None = None,
    ) -> None:
        """`handlers` are the endpoints by target; `principals` are the rate-limit buckets of the normal path.

        `hosts`, if given, checks the `Host`.
        """
        self._hosts = hosts
        self._handlers = handlers
        self._principals = principals
        self._observers = observers
        self._limits = limits
        self._clock = clock

    def answer(
        self, target: bytes, headers: list[RawHeader], body: bytes, size: int, first: Iterable[RawHeader], scheme: str
    ) -> bytes | None:
        """Return the bytes of the response to a POST of `size` bytes, or None for the normal path.

        The headers in `first` come first in the response.
        """
        began, head, handler = self._clock(), dict(headers), self._handlers.get(target)
        if handler is None or not self._is_plain(head, headers, body, size) or not self._accepts(head[b"host"]):
            return None
        secret = head[b"authorization"].removeprefix(_BEARER).decode("latin-1")
        principal = handler.knows(secret)
        if principal is None or self._principals.take(principal, began):
            return None
        exchange = RequestContext(sane_id(head.get(b"x-request-id")), "POST", 200, principal=principal)
        ready = handler.answer(target, head, body, secret, exchange.id)
        if ready is None:
            self._principals.put_back(principal)  # the normal path takes a token too
            return None
        exchange.route, exchange.organization = ready.route, ready.organization
        exchange.seconds = self._clock() - began
        for observe in self._observers:
            observe(exchange)
        return _encode_response(ready, exchange.id, first, self._hosts.scheme(scheme) if self._hosts else scheme)

    def _accepts(self, host: bytes) -> bool:
        # The fast path does not know the listener's address: a request that names it takes the normal path.
        return self._hosts is None or self._hosts.accepts(host)

    def _is_plain(self, head: dict[bytes, bytes], headers: list[RawHeader], body: bytes, size: int) -> bool:
        """Whether a request is within all limits and has nothing that only the normal path handles."""
        limits = self._limits
        return (
            len(head) == len(headers) <= limits.headers
            and _are_plain(tuple(head))
            and head[b"authorization"].startswith(_BEARER)
            and size - len(body) <= limits.header_bytes
            and len(body) <= min(limits.body, _LARGE)
            and not too_wide(body, limits.members)
            and not too_deep(body, limits.depth)
        )


@lru_cache
def _are_plain(names: tuple[bytes, ...]) -> bool:
    """Whether a request with headers of these names is plain. Clients send the same names again and again."""
    return _NEEDED.issubset(names) and _OTHERWISE.isdisjoint(names)


def _encode_response(ready: FastResponse, request: str, first: Iterable[RawHeader], scheme: str) -> bytes:
    begins = b"".join(b"%b: %b\r\n" % each for each in first)
    rest = _always(ready.content_type, scheme)
    return b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b" % (
        begins,
        len(ready.body),
        request.encode(),
        rest,
        ready.body,
    )


@lru_cache
def _always(content_type: str, scheme: str) -> bytes:
    own = [(b"content-type", content_type.encode())]
    return b"".join(b"%b: %b\r\n" % each for each in (*own, *browser_headers({"scheme": scheme}, own)))
