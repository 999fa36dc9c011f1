"""Connects to the database of a connection without ambient credentials: libpq would add those of the server's own user.

libpq takes every parameter that is not given from `PG*` variables, a service file, `~/.pgpass`, `~/.postgresql` or a Kerberos
ticket. So every parameter is given here, and the connection is refused if libpq would still add one.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psycopg
from psycopg import Connection
from psycopg.pq import Conninfo

from headgate.pipelines.connections.targets import DatabasePlace

log: Final = logging.getLogger(__name__)

_PATIENCE: Final = 10
"""The connect timeout in seconds."""
_NO_FILE: Final = "/dev/null/none"
"""A path below a device, where no file can exist. An empty path would mean the default file in the home folder."""
_WITH_PASSWORD: Final = "none,password,md5,scram-sha-256"  # noqa: S105 (ways to authenticate)

SETTINGS: Final[Mapping[str, str]] = {
    # Credentials: only the connection's own password.
    "passfile": _NO_FILE,
    "sslcertmode": "disable",
    "sslcert": _NO_FILE,
    "sslkey": _NO_FILE,
    "sslpassword": "",
    "gssencmode": "disable",
    "gssdelegation": "0",
    "gsslib": "",
    "krbsrvname": "postgres",
    "oauth_issuer": "",
    "oauth_client_id": "",
    "oauth_client_secret": "",
    "oauth_scope": "",
    "requirepeer": "",
    # TLS: libpq's defaults; the session keys are written to no file.
    "sslcrldir": "",
    "sslkeylogfile": "",
    "sslnegotiation": "postgres",
    "sslcompression": "0",
    "sslsni": "1",
    "ssl_min_protocol_version": "TLSv1.2",
    "ssl_max_protocol_version": "",
    "channel_binding": "prefer",
    # The session: libpq's defaults. The keepalives detect a dead server after two minutes.
    "options": "",
    "application_name": "headgate",
    "fallback_application_name": "",
    "client_encoding": "UTF8",
    "replication": "",
    "target_session_attrs": "any",
    "load_balance_hosts": "disable",
    "min_protocol_version": "3.0",
    "max_protocol_version": "3.0",
    "connect_timeout": str(_PATIENCE),
    "keepalives": "1",
    "keepalives_idle": "60",
    "keepalives_interval": "10",
    "keepalives_count": "6",
    "tcp_user_timeout": "0",
}
"""The parameters that every connection gives to libpq, for any database."""
UNSAID: Final[Mapping[str, str]] = {
    "service": "has no value for none; a service adds only parameters that are not given, and those are refused below",
    "scram_client_key": "has no value for none; refused below if a service gives one",
    "scram_server_key": "has no value for none; refused below if a service gives one",
}
"""The parameters of libpq that no connection gives, each with the reason."""


def connect_database(place: DatabasePlace) -> Connection:
    """Return an open connection to a database, with no credentials but its own user and password.

    Raises `psycopg.Error`, also if libpq would add a parameter that is not given here.
    """
    parameters = database_parameters(place)
    added = [name for name in _list_ambient_keywords() if name not in parameters and name != "service"]
    if added:
        why = f"libpq would add `{added[0]}` from the service file of the server's user; remove it from that file"
        log.error("the databases of connections cannot be used: %s", why)
        raise psycopg.OperationalError(why)
    return psycopg.connect(**parameters)  # pyright: ignore[reportArgumentType] (all of them are of libpq)


def database_parameters(place: DatabasePlace) -> dict[str, str]:
    """Return all parameters of libpq for a connection to a database."""
    trusted = Path("~/.postgresql").expanduser()
    return {
        **SETTINGS,
        # libpq connects to the addresses that egress control allowed, and checks the certificate against the host's name.
        "host": ",".join(place.host for _ in place.addresses),
        "hostaddr": ",".join(map(str, place.addresses)),
        "port": str(place.port),
        "dbname": place.database,
        "user": place.user,
        "password": place.password,
        "require_auth": _WITH_PASSWORD if place.password else "none",
        "sslmode": place.sslmode,
        # Trusted certificates are not a credential: libpq's two default files are read; no environment variable replaces them.
        "sslrootcert": str(trusted / "root.crt"),
        "sslcrl": str(trusted / "root.crl"),
    }


def _list_ambient_keywords() -> list[str]:
    """Return the parameters for which libpq would take a value from the environment or a service file."""
    return [each.keyword.decode() for each in Conninfo.get_defaults() if each.val != each.compiled]
