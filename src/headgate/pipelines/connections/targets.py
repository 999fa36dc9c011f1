"""Targets of connections: a folder, a database or an HTTP API. They hold secrets: none may be shown, logged or stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.control.egress import Address
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.pinned_http import ResolveAddresses


class PlaceError(Exception):
    """The target of a connection is not available; the message says why."""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of the server's machine."""

    folder: AllowedFolder


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """A PostgreSQL database. `sslmode` is as in libpq; `addresses` are the host's addresses that egress control allowed."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    sslmode: str
    addresses: Sequence[Address]


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """An HTTP API: everything below `base_url`, requested with these headers in addition to the usual ones.

    `decide` returns the allowed addresses of a host, and is called at each request.
    """

    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    decide: ResolveAddresses


Place = FolderPlace | DatabasePlace | HttpPlace


def require_folder(place: Place, name: str) -> AllowedFolder:
    """Return the folder of a target. Raises `PlaceError` if the target is no folder; `name` is the connection's."""
    if not isinstance(place, FolderPlace):
        raise PlaceError(f"the connection `{name}` is not a folder; name a connection to a folder")
    return place.folder


def database_of(place: Place, name: str) -> DatabasePlace:
    """Return the target if it is a database. Raises `PlaceError`."""
    if not isinstance(place, DatabasePlace):
        raise PlaceError(f"the connection `{name}` is not a database; name a connection to a database")
    return place


def http_of(place: Place, name: str) -> HttpPlace:
    """Return the target if it is an HTTP API. Raises `PlaceError`."""
    if not isinstance(place, HttpPlace):
        raise PlaceError(f"the connection `{name}` is not an HTTP API; name a connection to an HTTP API")
    return place
