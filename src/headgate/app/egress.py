"""What each organization's connections may reach, from the settings."""

import os
from collections.abc import Iterator, Mapping

from psycopg.conninfo import conninfo_to_dict

from headgate.app.named_files import server_files
from headgate.app.settings import Settings
from headgate.control.command import MissingError
from headgate.control.egress.policy import EVERY
from headgate.control.organization import Organization, Organizations
from headgate.pipelines.egress import Egress, StoreServer

_PORT = "5432"


def egress_of(settings: Settings, organizations: Organizations, organization: Organization) -> Egress:
    """Return what decides about the connections of an organization."""
    names = (each for each in settings.egress.organizations if _is_name_of(each, organizations, organization))
    rules = settings.egress.rules(*names)
    return Egress(rules, server_files(settings, os.environ), store_server(settings.store_url, os.environ))


def store_server(url: str | None, environ: Mapping[str, str]) -> StoreServer:
    """Return where the store of a URL is served; nowhere for a store in a file."""
    return StoreServer(tuple(_listens(url, environ)) if url else ())


def _is_name_of(name: str, organizations: Organizations, organization: Organization) -> bool:
    """Return whether a name is the organization's id, or its name in the deployment, which the operator gives."""
    try:
        return name != EVERY and organizations.find(name) is organization
    except MissingError:
        return False


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
