"""The connections to the drivers, one for each driver's present start."""

from headgate.spark.authority import Endpoint
from headgate.spark.gateway.backend import Backend
from headgate.spark.gateway.errors import UnavailableError
from headgate.spark.sql.statements import NOT_READY


class Backends:
    """Connects when a driver is first asked for."""

    def __init__(self) -> None:
        self._backends: dict[str, Backend] = {}

    async def reach(self, endpoint: Endpoint | None) -> Backend:
        """Return the connection to a start of a driver. Raises `UnavailableError` if there is none, or a later one."""
        if endpoint is None:
            raise UnavailableError(NOT_READY)
        found = self._backends.get(endpoint.name)
        if found is not None and found.endpoint == endpoint:
            return found
        if found is not None and found.endpoint.generation > endpoint.generation:
            raise UnavailableError(NOT_READY)
        backend = self._backends[endpoint.name] = Backend(endpoint)
        if found is not None:
            await found.close()
        return backend

    async def close(self) -> None:
        """Close them all."""
        for backend in self._backends.values():
            await backend.close()
