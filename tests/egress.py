"""Egress policies of tests."""

from pathlib import PurePosixPath

from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule
from headgate.pipelines.connections.egress import Egress

LOOPBACK = ("127.0.0.0/8:*", "[::1]:*")

OPEN = EgressPolicy(
    {"*": EgressRules((PurePosixPath("/"),), tuple(map(parse_host_rule, (*LOOPBACK, "*.example.org:*"))))}
)
"""Every folder, this machine, and the names that documentation uses, for every organization."""


def open_egress() -> Egress:
    """Return what decides by `OPEN`, where the server has no files and its store no port."""
    return Egress(OPEN.rules("organization"))
