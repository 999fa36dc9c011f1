"""The short way: a request that is as it should be, and can be answered at once, is.

It needs no task, no messages and one write. Whatever is anything else - a head with something odd in it, a body that is
not there yet, a caller who has to be looked up, a question that takes long, an answer that is an error - goes the usual
way, and is answered there as if this way were not.
"""

import time
from collections.abc import Callable, Iterable, Sequence
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
"""Headers that have an answer sent otherwise than here."""

_BEARER = b"Bearer "
_LARGE = 64 * 1024
"""So large a body is not read while others wait."""


class FastResponse(NamedTuple):
    """An answer: its body, the template of its route, its content type, and whose organization it is about."""

    body: bytes
    route: str
    content_type: str
    organization: str


class FastPathHandler(Protocol):
    """An endpoint that answers some requests at once."""

    def knows(self, target: bytes, secret: str) -> str | None:
        """Return the id of the principal whose secret it is; None if that takes a look, and for what is not asked here."""
        ...

    def answer(self, target: bytes, content_type: str, body: bytes, secret: str, request: str) -> FastResponse | None:
        """Return the answer, if it is a good one that took no waiting; else None, with nothing done."""
        ...


class FastPath:
    """Limits, counts and tells of what it answers as the usual way does."""

    def __init__(
        self,
        door: FastPathHandler,
        principals: TokenBuckets,
        observers: Sequence[Callable[[RequestContext], None]],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        hosts: Hosts | None = None,
    ) -> None:
        """`principals` are the buckets that the usual way takes from, too; `hosts` decides the `Host` where there is one."""
        self._hosts = hosts
        self._door = door
        self._principals = principals
        self._observers = observers
        self._limits = limits
        self._clock = clock

    def answer(
        self, target: bytes, headers: list[RawHeader], body: bytes, size: int, first: Iterable[RawHeader], scheme: str
    ) -> bytes | None:
        """Return the answer to a POST of this size as it is sent, with these headers first; or None for the usual way."""
        began, head = self._clock(), dict(headers)
        if not self._is_plain(head, headers, body, size) or not self._accepts(head[b"host"]):
            return None
        secret = head[b"authorization"].removeprefix(_BEARER).decode("latin-1")
        principal = self._door.knows(target, secret)
        # One that goes the usual way after this counts twice: that is too few of them to matter.
        if principal is None or self._principals.take(principal, began):
            return None
        exchange = RequestContext(sane_id(head.get(b"x-request-id")), "POST", 200, principal=principal)
        said = head.get(b"content-type", b"").decode("latin-1")
        ready = self._door.answer(target, said, body, secret, exchange.id)
        if ready is None:
            return None
        exchange.route, exchange.organization = ready.route, ready.organization
        exchange.seconds = self._clock() - began
        for observe in self._observers:
            observe(exchange)
        return _encode_response(ready, exchange.id, first, self._hosts.scheme(scheme) if self._hosts else scheme)

    def _accepts(self, host: bytes) -> bool:
        # The address of the listener is not known here: such a request goes the usual way.
        return self._hosts is None or self._hosts.accepts(host)

    def _is_plain(self, head: dict[bytes, bytes], headers: list[RawHeader], body: bytes, size: int) -> bool:
        """Say whether there is nothing to refuse in a request, and nothing odd that only the usual way knows."""
        limits = self._limits
        return (
            len(head) == len(headers) <= limits.headers
            and head.keys() >= _NEEDED
            and _OTHERWISE.isdisjoint(head)
            and head[b"authorization"].startswith(_BEARER)
            and size - len(body) <= limits.header_bytes
            and len(body) <= min(limits.body, _LARGE)
            and not too_wide(body, limits.members)
            and not too_deep(body, limits.depth)
        )


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
