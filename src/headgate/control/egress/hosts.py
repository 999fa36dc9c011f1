"""Egress rules for hosts: a DNS name, all names below one, an address or a network, each with a port."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from headgate.control.egress.ip_addresses import Address

ANY_PORT = "*"
_LAST_PORT = 65535
_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z)({_LABEL}\.)*(?!\d+\Z|0x[0-9a-f]*\Z){_LABEL}")
"""A DNS name in lower case. Its last label is no number, because the name would then be an IPv4 address in another form."""
_FORMS = "write `db.example.org:5432`, `*.example.org:443`, `10.0.0.0/8:5432` or `[fd00::/8]:5432`; port `*` means all"


@dataclass(frozen=True, slots=True)
class HostRule:
    """One allowed host and port. Either `name` or `network` is set; `port` None means every port.

    A `name` that begins with `*.` means all names below the rest, and not the rest itself.
    """

    port: int | None
    name: str = ""
    network: IPv4Network | IPv6Network | None = None

    def allows_port(self, port: int) -> bool:
        """Return whether the rule allows a port."""
        return self.port in (None, port)

    def allows_name(self, name: str) -> bool:
        """Return whether the rule lists a name, which `plain_name` has returned."""
        return name.endswith(self.name[1:]) if self.name.startswith("*.") else name == self.name

    def allows_address(self, address: Address) -> bool:
        """Return whether the rule lists an address, which `plain_address` has returned."""
        return self.network is not None and address in self.network


def plain_name(host: str) -> str | None:
    """Return a DNS name in lower case and without its last dot; None if the host is no DNS name."""
    name = host.lower().removesuffix(".")
    return name if _NAME.fullmatch(name) else None


def parse_host_rule(text: str) -> HostRule:
    """Return the rule of a text. Raises `ValueError` with the fault of the text."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or port.endswith("]"):
        raise ValueError(f"`{text}` has no port; {_FORMS}")
    if port != ANY_PORT and not (port.isascii() and port.isdecimal() and 0 < int(port) <= _LAST_PORT):
        raise ValueError(f"`{port}` is not a port; use a number from 1 to {_LAST_PORT}, or `*`")
    number = None if port == ANY_PORT else int(port)
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    name = plain_name(bare.removeprefix("*."))
    if name is not None and bare is host:
        return HostRule(number, name="*." + name if host.startswith("*.") else name)
    return HostRule(number, network=_parse_network(bare, is_bracketed=bare is not host))


def _parse_network(text: str, *, is_bracketed: bool) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(f"`{text}` is neither a DNS name nor an IP address or network; {_FORMS}") from None
    is_ipv6 = isinstance(network, IPv6Network)
    if is_ipv6 and not is_bracketed:
        raise ValueError(f"the IPv6 address `{text}` has no brackets; {_FORMS}")
    if is_bracketed and not is_ipv6:
        raise ValueError(f"the IPv4 address `{text}` has brackets; {_FORMS}")
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise ValueError(f"`{text}` is an IPv4-mapped IPv6 address; write the IPv4 address")
    return network
