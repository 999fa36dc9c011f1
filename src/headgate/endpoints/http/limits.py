"""Limits of one request and of one client: sizes, timeouts, connections and rates."""

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits: sizes in bytes, times in seconds, rates in requests per second; a rate of 0 means no limit."""

    body: int = 4096 * KIB
    depth: int = 100
    """The maximum nesting of arrays and objects in a body."""
    members: int = 100_000
    """The maximum number of members in all arrays and objects of a body together."""
    unauthenticated_body: int = 64 * KIB
    """The largest body of a request without a valid credential: such a request is a login or accepts an invitation."""
    unauthenticated_members: int = 1000
    connections: int = 5000
    """The maximum number of open connections; further ones get a 503 response and are closed."""
    network_connections: int = 1000
    """The maximum number of open connections of one IPv4 address or one IPv6 /64 network."""
    headers: int = 64
    header_bytes: int = 32 * KIB
    """The maximum size of the request target and all header names and values together."""
    header_seconds: float = 15.0
    """The time in which a connection must send the head of its first request."""
    body_seconds: float = 30.0
    request_seconds: float = 300.0
    """The time in which a response must begin and end; the longest responses are those of statements on Spark."""
    principal_rate: float = 10_000.0
    address_rate: float = 200.0
    """The rate for requests without a valid credential, per address."""
    burst_seconds: float = 2.0
    """The size of a burst: the rate times this number of seconds may come at once."""
