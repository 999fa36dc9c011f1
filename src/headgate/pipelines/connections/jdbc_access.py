"""How Spark enters a database by JDBC: the URL and the properties, which Headgate writes, and no user."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from headgate.control.connections.commands import JdbcAccess
from headgate.pipelines.connections.targets import DatabasePlace

_SOCKETS: Final = "io.headgate.guard.connections.PinnedSockets"
"""The guard's class that connects to the addresses of its argument, and resolves no name."""

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
"""What every connection says to PostgreSQL's driver.

It takes what is not said from `~/.postgresql` and Kerberos. An empty file means none, and no login module has that name. A
password that is said, an empty one too, keeps it from `~/.pgpass`; it reads a service file only for a service in the URL.
"""


def jdbc_access(database: DatabasePlace) -> JdbcAccess:
    """Return how Spark enters a database: at the addresses that were decided on, with TLS held against the host's name."""
    host = f"[{database.host}]" if ":" in database.host else database.host
    url = f"jdbc:postgresql://{host}:{database.port}/{quote(database.database, safe='')}"
    properties = {"user": database.user, "password": database.password, "sslmode": database.sslmode}
    properties |= {"socketFactory": _SOCKETS, "socketFactoryArg": _pinned(database)}
    return JdbcAccess(url, {**DRIVER_PROPERTIES, **properties}, database.port, tuple(map(str, database.addresses)))


def _pinned(database: DatabasePlace) -> str:
    return " ".join((str(database.port), *map(str, database.addresses)))
