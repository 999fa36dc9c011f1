"""Connections to a database behind a connection, with nothing of the server's own user: libpq would add that unasked.

libpq takes what is not said from `PG*` variables, a service file, `~/.pgpass`, `~/.postgresql` and a Kerberos ticket. So
everything is said here, and a connection does not come about where libpq would still add something.
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
"""Seconds for a connection to come about."""
_NO_FILE: Final = "/dev/null/none"
"""A path below a device: no file can lie there. An empty one would stand for the file in the home folder."""
_WITH_PASSWORD: Final = "none,password,md5,scram-sha-256"  # noqa: S105 (ways to authenticate)

SETTINGS: Final[Mapping[str, str]] = {
    # Credentials: none but the connection's own password.
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
    # TLS, as libpq has it by itself; the session's keys are written to no file.
    "sslcrldir": "",
    "sslkeylogfile": "",
    "sslnegotiation": "postgres",
    "sslcompression": "0",
    "sslsni": "1",
    "ssl_min_protocol_version": "TLSv1.2",
    "ssl_max_protocol_version": "",
    "channel_binding": "prefer",
    # The session, as libpq has it by itself. A server that has gone is noticed after two minutes.
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
"""What every connection says to libpq, whatever is behind it."""
UNSAID: Final[Mapping[str, str]] = {
    "service": "no value means none; a service adds only what is not said, and all that it may add is said or refused",
    "scram_client_key": "no value means none; refused where a service gives one",
    "scram_server_key": "no value means none; refused where a service gives one",
}
"""The keywords of libpq that no connection says, each with the reason."""


def connect_database(place: DatabasePlace) -> Connection:
    """Return an open connection to a database, made with its own user and password alone.

    Raises `psycopg.Error`, also where libpq would add parameters that are not given here.
    """
    parameters = database_parameters(place)
    added = [name for name in _list_ambient_keywords() if name not in parameters and name != "service"]
    if added:
        why = f"libpq would add the `{added[0]}` of the server's own service; remove it from the service file"
        log.error("no connection's database is connected: %s", why)
        raise psycopg.OperationalError(why)
    return psycopg.connect(**parameters)  # pyright: ignore[reportArgumentType] (all of them are of libpq)


def database_parameters(place: DatabasePlace) -> dict[str, str]:
    """Return every parameter that libpq gets for a connection to a database."""
    trusted = Path("~/.postgresql").expanduser()
    return {
        **SETTINGS,
        # libpq connects to the addresses that were decided on, and holds the certificate against the name.
        "host": ",".join(place.host for _ in place.addresses),
        "hostaddr": ",".join(map(str, place.addresses)),
        "port": str(place.port),
        "dbname": place.database,
        "user": place.user,
        "password": place.password,
        "require_auth": _WITH_PASSWORD if place.password else "none",
        "sslmode": place.sslmode,
        # Trusted certificates are not a credential: libpq's usual two files are read, and no environment variable replaces them.
        "sslrootcert": str(trusted / "root.crt"),
        "sslcrl": str(trusted / "root.crl"),
    }


def _list_ambient_keywords() -> list[str]:
    """Return the keywords for which libpq would take a value from the environment or a service."""
    return [each.keyword.decode() for each in Conninfo.get_defaults() if each.val != each.compiled]
