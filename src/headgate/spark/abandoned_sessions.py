"""Sessions of a gateway that has ended: nothing tracks what still runs in them, so their drivers end it."""

import threading
from collections.abc import Collection, Iterable

import grpc.aio

from headgate.spark.gateway.authority import Endpoint, NotServedError
from headgate.spark.gateway.backend import Backend, rich_status
from headgate.spark.gateway.identity import SessionKey, user_id
from headgate.spark.sessions import Sessions


class AbandonedSessions:
    """The sessions that the drivers have not released yet. Safe to use from several threads.

    A client may open its session again through the next gateway, which has the driver release the former one itself.
    Nothing here releases such a session after that: it would be the new one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys = set[SessionKey]()
        self._releasing = set[SessionKey]()
        """Those that drivers have been asked to release and have not answered about."""

    def add(self, sessions: Iterable[Sessions]) -> None:
        """Add the open sessions, by the names under which drivers know them."""
        keys = {SessionKey(user_id(caller), session_id) for each in sessions for caller, session_id in each.opened()}
        with self._lock:
            self._keys |= keys

    def reopen(self, key: SessionKey) -> None:
        """Leave a session alone: it is opened again. Raises `NotServedError` while a driver is asked to release it."""
        with self._lock:
            if key in self._releasing:
                raise NotServedError
            self._keys.discard(key)

    async def release(self, endpoints: Collection[Endpoint]) -> None:
        """End the sessions in every driver, which interrupts what runs in them. Raises `grpc.aio.AioRpcError`."""
        backends = [Backend(endpoint) for endpoint in endpoints]
        try:
            for key in self._waiting():
                if self._begin(key):
                    await self._release(key, backends)
        finally:
            for backend in backends:
                await backend.close()

    def _waiting(self) -> tuple[SessionKey, ...]:
        with self._lock:
            return tuple(self._keys)

    def _begin(self, key: SessionKey) -> bool:
        """Keep a session from being opened again while it is released; return False if it has been opened again."""
        with self._lock:
            if key in self._keys:
                self._keys.remove(key)
                self._releasing.add(key)
            return key in self._releasing

    async def _release(self, key: SessionKey, backends: Iterable[Backend]) -> None:
        is_released = False
        try:
            for backend in backends:
                await _release(backend, key)
            is_released = True
        finally:
            with self._lock:
                self._releasing.discard(key)
                if not is_released:
                    self._keys.add(key)


async def _release(backend: Backend, key: SessionKey) -> None:
    try:
        await backend.forget(key)
    except grpc.aio.AioRpcError as error:
        # Spark's own error: this driver has no such session. Without one, the driver could not be asked.
        if not rich_status(error):
            raise
