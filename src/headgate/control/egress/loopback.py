"""Loopback hosts."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, without brackets, is this machine's loopback."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
