"""JDBC access of Spark to the database of a connection: Headgate, and no user, writes the URL and the properties."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from headgate.control.connections.commands import JdbcAccess
from headgate.pipelines.connections.targets import DatabasePlace

_SOCKETS: Final = "io.headgate.guard.connections.PinnedSockets"
"""The guard's socket factory, which connects to the addresses in its argument and resolves no name."""

DRIVER_PROPERTIES: Final[Mapping[str, str]] = {
    "ApplicationName": "headgate",
    "tcpKeepAlive": "true",
    "sslcert": "",
    "sslkey": "",
    "gssEncMode": "disable",
    "gsslib": "gssapi",
    "gssUseDefaultCreds": "false",
    "jaasLogin": "true",
    "jaasApplicationName": "headgate-without-kerberos",
}
"""The properties of every connection of PostgreSQL's JDBC driver, which prevent ambient credentials.

The driver takes missing properties from `~/.postgresql` and Kerberos. An empty file name means no file, and no login module
has that name. With a password, even an empty one, it does not read `~/.pgpass`; it reads a service file only for a service in
the URL.
"""


def jdbc_access(database: DatabasePlace) -> JdbcAccess:
    """Return how Spark connects to a database: at the allowed addresses, with TLS checked against the host's name."""
    host = f"[{database.host}]" if ":" in database.host else database.host
    url = f"jdbc:postgresql://{host}:{database.port}/{quote(database.database, safe='')}"
    properties = {"user": database.user, "password": database.password, "sslmode": database.sslmode}
    properties |= {"socketFactory": _SOCKETS, "socketFactoryArg": _pinned(database)}
    return JdbcAccess(url, {**DRIVER_PROPERTIES, **properties}, database.port, tuple(map(str, database.addresses)))


def _pinned(database: DatabasePlace) -> str:
    return " ".join((str(database.port), *map(str, database.addresses)))
