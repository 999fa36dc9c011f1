"""What each organization's connections may reach, from the settings."""

import os
from collections.abc import Callable, Iterator, Mapping

from headgate.app.settings.named_files import server_files
from headgate.app.settings.settings import Settings
from headgate.control.organizations.organization import Organization
from headgate.pipelines.connections.egress import Egress, StoreServer
from headgate.store.postgresql import connection_parameters

_PORT = "5432"


def egress_of(settings: Settings) -> Callable[[Organization], Egress]:
    """Return what decides about the connections of each organization.

    An organization has the rules of its id: its name is its owner's choice.
    """
    own, store = server_files(settings, os.environ), store_server(settings.store_url)
    return lambda organization: Egress(settings.egress.rules(organization.id), own, store)


def store_server(url: str | None) -> StoreServer:
    """Return where the store of a URL is served; nowhere for a store in a file. Raises `StoreError`."""
    return StoreServer(tuple(_listens(connection_parameters(url))) if url else ())


def _listens(parameters: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield every host and address that libpq may connect, with its port; without any it is a socket of this machine."""
    ports = parameters.get("port", _PORT).split(",")
    groups = [parameters[each].split(",") for each in ("host", "hostaddr") if each in parameters]
    for group in groups or [[""]]:
        # One port is for all hosts; of several, each is for one.
        for index, host in enumerate(group):
            port = ports[index] if len(ports) == len(group) else ports[0]
            yield ("" if host.startswith(("/", "@")) else host), int(port or _PORT)
