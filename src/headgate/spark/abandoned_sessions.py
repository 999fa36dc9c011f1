"""Abandoned sessions: those of a gateway process that has ended. Nothing tracks their operations, so the drivers end them."""

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
    """A session and the name of its driver. A user may have sessions of the same id in several organizations."""

    driver: str
    key: SessionKey


class AbandonedSessions:
    """The sessions that the drivers have not released yet. Thread-safe.

    A client may open its session again through the next gateway, which then makes the driver release the old session.
    After that, this class must not release the session of that id: it would be the new one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions = set[_Session]()
        self._releasing = set[_Session]()
        """Sessions with a pending request to release them."""

    def add(self, driver: str, sessions: SparkSessions) -> None:
        """Add the open sessions of the driver of this name."""
        found = {_Session(driver, SessionKey(user_id(caller), id)) for caller, id in sessions.list_open()}
        with self._lock:
            self._sessions |= found

    def reopen(self, driver: str, key: SessionKey) -> None:
        """Forget a session that is opened again. Raises `StaleDriverError` while a request to release it is pending."""
        session = _Session(driver, key)
        with self._lock:
            if session in self._releasing:
                raise StaleDriverError
            self._sessions.discard(session)

    async def release(self, endpoints: Collection[DriverEndpoint]) -> None:
        """Release the sessions in their drivers, which interrupts their operations. Raises `grpc.aio.AioRpcError`.

        A driver that does not serve has no sessions: they ended with its process.
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
        """Block a session from being opened while it is released; return False if it has already been opened again."""
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
        # Spark's own error means that the driver has no such session; any other, that the driver did not respond.
        if not rich_status(error):
            raise
