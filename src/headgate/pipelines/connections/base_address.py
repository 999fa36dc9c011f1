"""The base address of an HTTP connection: requests, which have the connection's secret, go only to addresses below it."""

from urllib.parse import unquote

import httpx

from headgate.control.connections.commands import has_way_up
from headgate.pipelines.load_errors import LoadError


def is_below(base: str, reference: str, seen_at: str | None = None) -> httpx.URL:
    """Return the address of a reference if it is below the base. It is parsed once, here, and requested as it is.

    A relative reference is resolved against the address `seen_at` of its document, or against the base. Raises `LoadError`
    for any other address.
    """
    try:
        root = httpx.URL(base)
        found = httpx.URL(seen_at or base).join(reference)
        is_below = _is_below(root, found)
    except (httpx.InvalidURL, ValueError):
        raise LoadError(
            "the address of a request to the API is malformed; correct the address of the connection and `path`, or have "
            "the API send valid addresses in redirects and for the next page"
        ) from None
    # Userinfo would be sent as a credential that the host chose, instead of the connection's.
    if found.userinfo:
        raise LoadError(
            f"the API answered with a redirect or a next page whose address, {_format(found)}, has a user name (`user@host`); "
            "Headgate sends only the credentials of the connection: ask the owner of the API for an address without a user name"
        )
    if not is_below:
        raise LoadError(
            f"a response of the API names {_format(found)}, which is outside the address of the connection; if the API has moved, "
            "change the address of the connection"
        )
    return found


def _is_below(root: httpx.URL, found: httpx.URL) -> bool:
    own, asked = _read_parts(root), _read_parts(found)
    return (
        (found.scheme, found.raw_host, found.port) == (root.scheme, root.raw_host, root.port)
        and not has_way_up(_path(found))
        and asked[: len(own)] == own
    )


def _read_parts(address: httpx.URL) -> list[str]:
    """Return the parts of the path, each unquoted after the split: a quoted slash is no separator."""
    return [unquote(part) for part in _path(address).rstrip("/").split("/")]


def _path(address: httpx.URL) -> str:
    return address.raw_path.partition(b"?")[0].decode("ascii")


def _format(address: httpx.URL) -> str:
    port = "" if address.port is None else f":{address.port}"
    return f"`{address.scheme}://{address.raw_host.decode('ascii')[:100]}{port}{_path(address)[:100]}`"
