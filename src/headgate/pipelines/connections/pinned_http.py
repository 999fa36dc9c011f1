"""HTTP requests to pinned addresses: a name is resolved once per request, and not again to connect (DNS rebinding)."""

from collections.abc import Callable, Sequence

import httpx
from typing_extensions import override

from headgate.control.egress import Address
from headgate.control.egress.ip_addresses import parse_address
from headgate.pipelines.connections.egress import DEFAULT_PORTS

ResolveAddresses = Callable[[str, int], Sequence[Address]]
"""Returns the allowed addresses of a host and port. Raises `EgressError`, or `OSError` if the host has no address."""


class PinnedTransport(httpx.BaseTransport):
    """Sends each request to an allowed address of its host, with the host's name in `Host` and in TLS."""

    def __init__(self, decide: ResolveAddresses, inner: httpx.BaseTransport) -> None:
        """`inner` sends the requests, without a proxy, which would resolve the name by itself."""
        self._decide = decide
        self._inner = inner

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address that accepts the connection. Raises `EgressError`, or what httpx raises."""
        # The host as it is sent (IDNA), not the decoded form that is shown.
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or DEFAULT_PORTS.get(request.url.scheme, 0)
        try:
            *others, last = self._decide(host, port)
        except OSError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        for address in others:
            try:
                return self._inner.handle_request(_pinned(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return self._inner.handle_request(_pinned(request, host, last))

    @override
    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def _pinned(request: httpx.Request, host: str, address: Address) -> httpx.Request:
    named = {} if parse_address(host) is not None else {"sni_hostname": host}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **named},
    )
