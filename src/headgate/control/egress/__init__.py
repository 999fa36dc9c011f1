"""Egress: which folders and hosts outside the lake the operator allows the connections of an organization."""

from headgate.control.egress.hosts import HostRule, parse_host_rule
from headgate.control.egress.ip_addresses import Address, is_public, plain_address
from headgate.control.egress.policy import EgressPolicy, EgressRules

__all__ = ["Address", "EgressPolicy", "EgressRules", "HostRule", "is_public", "parse_host_rule", "plain_address"]
