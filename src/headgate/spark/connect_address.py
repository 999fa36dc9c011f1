"""The address of the Spark Connect gateway in PySpark's form: `sc://HOST:PORT`."""

from headgate.control.egress.loopback import is_loopback


def connect_address(host: str, port: int, *, tls: bool) -> str:
    """Return the address without a token; parameters are appended after `;`, or after `/;` without TLS.

    PySpark sends a token without TLS to the host name `localhost` only, and not to `127.0.0.1`.
    """
    if tls:
        return f"sc://{_in_url(host)}:{port}/;use_ssl=true"
    return f"sc://{'localhost' if is_loopback(host) else _in_url(host)}:{port}"


def _in_url(host: str) -> str:
    """Return a host for a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
