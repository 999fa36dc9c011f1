"""Egress policies of tests."""

from pathlib import PurePosixPath

from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule
from headgate.pipelines.connections.egress import Egress

LOOPBACK = ("127.0.0.0/8:*", "[::1]:*")

OPEN = EgressPolicy(
    {"*": EgressRules((PurePosixPath("/"),), tuple(map(parse_host_rule, (*LOOPBACK, "*.example.org:*"))))}
)
"""Allows every folder, this machine, and the host names reserved for documentation, for every organization."""


def open_egress() -> Egress:
    """Return an egress check with the policy `OPEN`, for a server without files whose store has no port."""
    return Egress(OPEN.rules("organization"))
