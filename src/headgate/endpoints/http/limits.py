"""How much one request, and one client, may ask for."""

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds, rates in requests per second; a rate of 0 is no limit."""

    body: int = 4096 * KIB
    depth: int = 100
    """How deeply arrays and objects of a body may lie in each other."""
    members: int = 100_000
    """How many members the arrays and objects of a body may have in all."""
    unauthenticated_body: int = 64 * KIB
    """The largest body of a request without a valid credential: such a request is a login or takes an invitation."""
    unauthenticated_members: int = 1000
    connections: int = 5000
    """How many may be open at once; the next are closed with an answer 503."""
    network_connections: int = 1000
    """How many of those one address may have open; of IPv6, one network of /64."""
    headers: int = 64
    header_bytes: int = 32 * KIB
    """All names and values of the headers, with the target."""
    header_seconds: float = 15.0
    """Within which a connection has to send the head of its first request."""
    body_seconds: float = 30.0
    request_seconds: float = 300.0
    """Within which an answer has to begin and end; a statement on Spark is the longest there is."""
    principal_rate: float = 10_000.0
    address_rate: float = 200.0
    """For requests of nobody who is known here."""
    burst_seconds: float = 2.0
    """How many seconds' worth of requests may come at once."""
