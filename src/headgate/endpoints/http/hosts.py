"""The addresses that a request may name in `Host`, and the one that absolute URLs begin with."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import URL
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]\\]+)(?::\d{1,5})?")
_LOCALHOST = "localhost"
_HOST = b"host"


class Hosts:
    """Decides which `Host` a request may carry.

    With a public URL every request is for that URL, and `Host` has no effect. Without one, only loopback names and
    addresses, and the server address of the connection, are accepted: no other name is known to be the server's.
    """

    def __init__(self, public_url: str | None = None) -> None:
        self.public_url = public_url.rstrip("/") if public_url else None
        self._public = urlsplit(public_url) if public_url else None

    def accepts(self, host: bytes | None, listener: str | None = None) -> bool:
        """Whether a request with this `Host` is served at this address of the listener."""
        return self._public is not None or host is None or _is_own(host, listener)

    def scheme(self, connection: str) -> str:
        """Return the scheme that clients use: that of the public URL, else that of the connection."""
        return connection if self._public is None else self._public.scheme

    def rewrite(self, scope: Scope) -> None:
        """Set the scheme and host of the public URL in a request, so that every URL built from it begins with them."""
        if self._public is None:
            return
        others = [each for each in scope["headers"] if each[0] != _HOST]
        scope["scheme"] = self._public.scheme
        scope["headers"] = [(_HOST, self._public.netloc.encode()), *others]


class HostCheck:
    """Refuses a request that names a host that is not this server, before anything builds a URL from it."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = next((value for name, value in scope["headers"] if name == _HOST), None)
        server = scope.get("server")
        if not self._hosts.accepts(host, server[0] if server else None):
            await _refusal()(scope, receive, send)
            return
        self._hosts.rewrite(scope)
        await self._app(scope, receive, send)


def install_hosts(app: FastAPI, public_url: str | None) -> None:
    """Check the `Host` of every request before any part of the application reads it."""
    app.state.hosts = Hosts(public_url)
    app.add_middleware(HostCheck, hosts=app.state.hosts)


def base_url(scope: Scope) -> str:
    """Return the URL that absolute URLs of an answer begin with, without a slash at its end."""
    hosts: Hosts = scope["app"].state.hosts
    url = URL(scope=scope)
    return hosts.public_url or f"{url.scheme}://{url.netloc}"


@lru_cache(maxsize=256)
def _is_own(authority: bytes, listener: str | None) -> bool:
    found = _AUTHORITY.fullmatch(authority.decode("latin-1"))
    if found is None:
        return False
    host = found["host"].strip("[]")
    name = host.lower().removesuffix(".")
    if name == _LOCALHOST or name.endswith(f".{_LOCALHOST}"):
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address == _address(listener or ""))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _refusal() -> ASGIApp:
    return problem_response(
        421,
        "unknown-host",
        "`Host` names neither this machine nor the address that the server listens on; "
        "send requests to that address, or set HEADGATE_PUBLIC_URL to the URL that clients use",
    )
