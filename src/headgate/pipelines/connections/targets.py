"""What is behind a connection. With its secret, so that none of these is shown, logged or kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.control.egress import Address
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.pinned_http import ResolveAddresses


class PlaceError(Exception):
    """What is behind a connection cannot be had, and the message says why."""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of the server's machine."""

    folder: AllowedFolder


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """A PostgreSQL database. `sslmode` is as libpq has it, `addresses` are those of the host that were decided on."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    sslmode: str
    addresses: Sequence[Address]


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """An HTTP API: everything below `base_url`, asked with these headers beside the usual ones.

    `decide` returns the addresses at which a host may be connected, at each request.
    """

    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    decide: ResolveAddresses


Place = FolderPlace | DatabasePlace | HttpPlace


def require_folder(place: Place, name: str) -> AllowedFolder:
    """Return the folder of a place that the connection of that name is to be. Raises `PlaceError`."""
    if not isinstance(place, FolderPlace):
        raise PlaceError(f"the connection `{name}` is no folder; name one that is")
    return place.folder


def database_of(place: Place, name: str) -> DatabasePlace:
    """Return the place if it is a database. Raises `PlaceError`."""
    if not isinstance(place, DatabasePlace):
        raise PlaceError(f"the connection `{name}` is no database; name one that is")
    return place


def http_of(place: Place, name: str) -> HttpPlace:
    """Return the place if it is an HTTP API. Raises `PlaceError`."""
    if not isinstance(place, HttpPlace):
        raise PlaceError(f"the connection `{name}` is no HTTP API; name one that is")
    return place
