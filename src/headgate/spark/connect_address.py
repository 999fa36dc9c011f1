"""The address of the Spark Connect gateway as PySpark takes it: `sc://HOST:PORT`."""

from headgate.control.egress.loopback import is_loopback


def connect_address(host: str, port: int, *, tls: bool) -> str:
    """Return the address without a token; parameters are appended behind `;`, or behind `/;` where there is no TLS.

    PySpark sends a token without TLS to the host name `localhost` only, and not to `127.0.0.1`.
    """
    if tls:
        return f"sc://{_in_url(host)}:{port}/;use_ssl=true"
    return f"sc://{'localhost' if is_loopback(host) else _in_url(host)}:{port}"


def _in_url(host: str) -> str:
    """Return a host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
