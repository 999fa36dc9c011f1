"""What is behind a connection. With its secret, so that none of these is shown, logged or kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from headgate.control.connections import Entrance


class PlaceError(Exception):
    """What is behind a connection cannot be had, and the message says why."""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of the server's machine."""

    folder: Path


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """A PostgreSQL database. `sslmode` is as libpq has it."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    sslmode: str = "prefer"


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """An HTTP API: everything below `base_url`, asked with these headers beside the usual ones."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])


Place = FolderPlace | DatabasePlace | HttpPlace


def entrance(database: DatabasePlace) -> Entrance:
    """Return how Spark enters a database."""
    host = f"[{database.host}]" if ":" in database.host else database.host
    url = f"jdbc:postgresql://{host}:{database.port}/{quote(database.database, safe='')}"
    properties = {"user": database.user, "password": database.password, "sslmode": database.sslmode}
    return Entrance(url, {**properties, "ApplicationName": "headgate", "tcpKeepAlive": "true"})


def folder_of(place: Place, name: str) -> Path:
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
