"""The address of a connection to an HTTP API, and what lies below it: the connection's secret is for nothing else."""

from urllib.parse import unquote

import httpx

from headgate.control.connections.commands import has_way_up
from headgate.pipelines.load_errors import LoadError


def is_below(base: str, reference: str, seen_at: str | None = None) -> httpx.URL:
    """Return the address that a reference means, if it lies below the base: parsed once, to be sent as it is.

    A relative reference is one of the document at `seen_at`, or of the base. Raises `LoadError` for any other address.
    """
    try:
        root = httpx.URL(base)
        found = httpx.URL(seen_at or base).join(reference)
        is_below = _is_below(root, found)
    except (httpx.InvalidURL, ValueError):
        raise LoadError(
            "the API leads to an address that cannot be read; look at the connection's own, and at the API"
        ) from None
    if not is_below:
        raise LoadError(
            f"the API leads to {_format(found)}, which is not the connection's own address or one below it, or names a user; "
            "if that is where the API is now, change the connection"
        )
    return found


def _is_below(root: httpx.URL, found: httpx.URL) -> bool:
    own, asked = _read_parts(root), _read_parts(found)
    return (
        (found.scheme, found.raw_host, found.port) == (root.scheme, root.raw_host, root.port)
        # Userinfo would be sent as a credential of the host's choice, in the place of the connection's.
        and not found.userinfo
        and not has_way_up(_path(found))
        and asked[: len(own)] == own
    )


def _read_parts(address: httpx.URL) -> list[str]:
    """Return the parts of the path, each unquoted by itself: a quoted slash divides none."""
    return [unquote(part) for part in _path(address).rstrip("/").split("/")]


def _path(address: httpx.URL) -> str:
    return address.raw_path.partition(b"?")[0].decode("ascii")


def _format(address: httpx.URL) -> str:
    port = "" if address.port is None else f":{address.port}"
    return f"`{address.scheme}://{address.raw_host.decode('ascii')[:100]}{port}{_path(address)[:100]}`"
