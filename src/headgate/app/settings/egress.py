"""The egress policy of the connections of each organization, from the settings."""

import os
from collections.abc import Callable, Iterator, Mapping

from headgate.app.settings.named_files import server_files
from headgate.app.settings.settings import Settings
from headgate.control.organizations.organization import Organization
from headgate.pipelines.connections.egress import Egress, StoreServer
from headgate.store.postgresql import connection_parameters

_PORT = "5432"


def egress_of(settings: Settings) -> Callable[[Organization], Egress]:
    """Return the function from an organization to the egress rules of its connections.

    Rules are listed by the id of an organization, not by its name, which its owner can change.
    """
    own, store = server_files(settings, os.environ), store_server(settings.store_url)
    return lambda organization: Egress(settings.egress.rules(organization.id), own, store)


def store_server(url: str | None) -> StoreServer:
    """Return the hosts and ports of the server of a store URL; none for a store in a file. Raises `StoreError`."""
    return StoreServer(tuple(_listens(connection_parameters(url))) if url else ())


def _listens(parameters: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield every host and address that libpq may connect to, with its port; the empty host is a socket of this machine."""
    ports = parameters.get("port", _PORT).split(",")
    groups = [parameters[each].split(",") for each in ("host", "hostaddr") if each in parameters]
    for group in groups or [[""]]:
        # A single port is for all hosts; several ports are for one host each.
        for index, host in enumerate(group):
            port = ports[index] if len(ports) == len(group) else ports[0]
            yield ("" if host.startswith(("/", "@")) else host), int(port or _PORT)
