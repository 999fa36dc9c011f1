"""Sessions of a gateway that has ended: nothing tracks what still runs in them, so their drivers end it."""

import threading
from collections.abc import Collection
from dataclasses import dataclass

import grpc.aio

from headgate.spark.authority import DriverEndpoint, StaleDriverError
from headgate.spark.gateway.call_identity import SessionKey, user_id
from headgate.spark.gateway.driver_channel import DriverBackend, rich_status
from headgate.spark.sessions.sessions import SparkSessions


@dataclass(frozen=True, slots=True)
class _Session:
    """A session, and the name of the driver that it is in. A user has sessions of one id in several organizations."""

    driver: str
    key: SessionKey


class AbandonedSessions:
    """The sessions that the drivers have not released yet. Safe to use from several threads.

    A client may open its session again through the next gateway, which has the driver release the former one itself.
    Nothing here releases such a session after that: it would be the new one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions = set[_Session]()
        self._releasing = set[_Session]()
        """Those that drivers have been asked to release and have not answered about."""

    def add(self, driver: str, sessions: SparkSessions) -> None:
        """Add the open sessions of the driver of this name."""
        found = {_Session(driver, SessionKey(user_id(caller), id)) for caller, id in sessions.list_open()}
        with self._lock:
            self._sessions |= found

    def reopen(self, driver: str, key: SessionKey) -> None:
        """Leave a session alone: it is opened again. Raises `StaleDriverError` while its driver is asked to release it."""
        session = _Session(driver, key)
        with self._lock:
            if session in self._releasing:
                raise StaleDriverError
            self._sessions.discard(session)

    async def release(self, endpoints: Collection[DriverEndpoint]) -> None:
        """End the sessions in their drivers, which interrupts what runs in them. Raises `grpc.aio.AioRpcError`.

        A driver that does not serve has none: its sessions have ended with it.
        """
        backends = {endpoint.name: DriverBackend(endpoint) for endpoint in endpoints}
        try:
            for session in self._list_waiting():
                if self._begin(session):
                    await self._release(session, backends.get(session.driver))
        finally:
            for backend in backends.values():
                await backend.close()

    def _list_waiting(self) -> tuple[_Session, ...]:
        with self._lock:
            return tuple(self._sessions)

    def _begin(self, session: _Session) -> bool:
        """Keep a session from being opened again while it is released; return False if it has been opened again."""
        with self._lock:
            if session in self._sessions:
                self._sessions.remove(session)
                self._releasing.add(session)
            return session in self._releasing

    async def _release(self, session: _Session, backend: DriverBackend | None) -> None:
        is_released = False
        try:
            if backend is not None:
                await _release(backend, session.key)
            is_released = True
        finally:
            with self._lock:
                self._releasing.discard(session)
                if not is_released:
                    self._sessions.add(session)


async def _release(backend: DriverBackend, key: SessionKey) -> None:
    try:
        await backend.release_session(key)
    except grpc.aio.AioRpcError as error:
        # Spark's own error: this driver has no such session. Without one, the driver could not be asked.
        if not rich_status(error):
            raise
