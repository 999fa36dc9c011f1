"""Sessions of a gateway that has ended: nothing tracks what still runs in them, so their drivers end it."""

from collections.abc import Collection, Iterable

import grpc.aio

from headgate.spark.gateway.authority import Endpoint
from headgate.spark.gateway.backend import Backend, rich_status
from headgate.spark.gateway.identity import SessionKey, user_id
from headgate.spark.sessions import Sessions


def abandoned_keys(sessions: Iterable[Sessions]) -> frozenset[SessionKey]:
    """Return the names under which drivers know the open sessions."""
    return frozenset(
        SessionKey(user_id(caller), session_id) for each in sessions for caller, session_id in each.opened()
    )


async def release_sessions(endpoints: Collection[Endpoint], keys: Collection[SessionKey]) -> None:
    """End these sessions in every driver, which interrupts what runs in them. Raises `grpc.aio.AioRpcError`."""
    for endpoint in endpoints:
        backend = Backend(endpoint)
        try:
            for key in keys:
                await _release(backend, key)
        finally:
            await backend.close()


async def _release(backend: Backend, key: SessionKey) -> None:
    try:
        await backend.forget(key)
    except grpc.aio.AioRpcError as error:
        # Spark's own error: this driver has no such session. Without one, the driver could not be asked.
        if not rich_status(error):
            raise
