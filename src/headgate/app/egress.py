"""What each organization's connections may reach, from the settings."""

import os
from collections.abc import Callable, Iterator, Mapping

from psycopg.conninfo import conninfo_to_dict

from headgate.app.named_files import server_files
from headgate.app.settings import Settings
from headgate.control.organization import Organization
from headgate.pipelines.egress import Egress, StoreServer

_PORT = "5432"


def egress_of(settings: Settings) -> Callable[[Organization], Egress]:
    """Return what decides about the connections of each organization.

    An organization has the rules of its id: its name is its owner's choice.
    """
    own, store = server_files(settings, os.environ), store_server(settings.store_url, os.environ)
    return lambda organization: Egress(settings.egress.rules(organization.id), own, store)


def store_server(url: str | None, environ: Mapping[str, str]) -> StoreServer:
    """Return where the store of a URL is served; nowhere for a store in a file."""
    return StoreServer(tuple(_listens(url, environ)) if url else ())


def _listens(url: str, environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    ports = parts.get("port", environ.get("PGPORT", _PORT)).split(",")
    hosts = parts.get("host", environ.get("PGHOST", "")).split(",")
    addresses = parts.get("hostaddr", "").split(",")
    for group in (hosts, addresses):
        # One port is for all hosts; of several, each is for one.
        for index, host in enumerate(group):
            port = ports[index] if len(ports) == len(group) else ports[0]
            if group is hosts or host:
                yield ("" if host.startswith(("/", "@")) else host), int(port or _PORT)
