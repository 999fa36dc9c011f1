"""Trusted proxies: `X-Forwarded-For` and `X-Forwarded-Proto` are believed from their addresses, and from no others."""

from collections.abc import Sequence
from typing import Any


def trust_proxies(addresses: Sequence[str]) -> dict[str, Any]:
    """Return uvicorn's options for the addresses of the setting `proxies`; without addresses, no such header is believed."""
    return {"proxy_headers": bool(addresses), "forwarded_allow_ips": list(addresses)}
