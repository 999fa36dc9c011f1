"""IP addresses: one form for each, and which are public."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

_UNICAST = ip_network("2000::/3")
"""The only part of IPv6 from which public addresses are assigned."""
_SPECIAL = tuple(
    map(ip_network, ("100.64.0.0/10", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
)
"""Special networks (RFC 6890) that not every version of Python knows, or whose addresses embed an IPv4 address."""


def plain_address(address: Address) -> Address:
    """Return the IPv4 address of an IPv4-mapped IPv6 address, and any other address without its zone."""
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))


def is_public(address: Address) -> bool:
    """Return whether an address is assigned to one host of the public internet."""
    plain = plain_address(address)
    if not plain.is_global or plain.is_multicast or plain.is_reserved or plain.is_unspecified:
        return False
    if isinstance(plain, IPv6Address) and plain not in _UNICAST:
        return False
    return not any(plain in network for network in _SPECIAL)


def parse_address(host: str) -> Address | None:
    """Return the IP address that a host text is, or None for a name."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return plain_address(ip_address(bare))
    except ValueError:
        return None
