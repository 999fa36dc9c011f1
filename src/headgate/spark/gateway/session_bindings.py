"""Signed Spark sessions: the gateway sets the caller's handle in the configuration of each before any other request."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from headgate.spark.authority import Authority, DriverEndpoint, PresentedCredential
from headgate.spark.gateway.cached_relations import SessionCheckpoints
from headgate.spark.gateway.call_identity import SessionKey
from headgate.spark.gateway.driver_channel import DriverBackend
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.repeated_reads import RepeatedReads
from headgate.spark.sessions.sessions import IDLE_SECONDS

PRINCIPAL_KEY: Final = "headgate.principal.token"
"""Outside the prefix `spark.`: Spark sends such settings with every task to the executors."""
HANDLE_KEY: Final = "spark.sql.catalog.lake.token-handle"
POOL_KEY: Final = "spark.scheduler.pool"
"""Scheduler pools share a driver's cores equally. Each principal has one, and another for the runs that act as it."""
_LIVES: Final = IDLE_SECONDS - 300
"""Seconds without a use after which a handle is treated as expired: it is about to expire."""


@dataclass(slots=True)
class Binding:
    """A session: its handle, the start of the driver that it belongs to, and the credential that used it last."""

    key: SessionKey
    handle: str = ""
    server_side_id: str = ""
    """The id that the driver gave to the session."""
    backend: DriverBackend | None = None
    credential: PresentedCredential = field(default_factory=lambda: PresentedCredential(""))
    used: float = 0.0
    streams: bool = False
    """Whether streaming queries were started in the session."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    own_settings: set[str] = field(default_factory=set[str])
    """The configuration keys of the user's own that were set in the session."""
    checkpoints: SessionCheckpoints = field(default_factory=SessionCheckpoints)
    reads: RepeatedReads = field(default_factory=RepeatedReads)

    def build_release_response(self, operation: str) -> bytes:
        """Return the driver's response to the release of responses of an operation."""
        answer = base.ReleaseExecuteResponse(session_id=self.key.session_id, operation_id=operation)
        answer.server_side_session_id = self.server_side_id
        return answer.SerializeToString()


class Bindings:
    """The handles of the Spark sessions that the gateway has opened."""

    def __init__(self, authority: Authority, clock: Callable[[], float] = time.monotonic) -> None:
        self._authority = authority
        self._clock = clock
        self._bindings: dict[tuple[str, SessionKey], Binding] = {}
        self._used = set[str]()

    async def ensure(self, key: SessionKey, credential: PresentedCredential, backend: DriverBackend) -> Binding:
        """Return the session once it is signed; no other request of it reaches the driver before. Raises `GatewayError`s.

        A session with an invalid handle, or of an earlier start of the driver, is released and opened again: Iceberg
        keeps the handle that a session first used, so the old session could never reach the catalog again.
        """
        binding = self._binding(key, backend)
        async with binding.lock:
            if not self._is_live(binding, backend):
                await backend.release_session(key)
                await self._sign(binding, credential, backend)
        self._use(binding, credential)
        return binding

    async def clone(
        self,
        key: SessionKey,
        credential: PresentedCredential,
        source: Binding,
        backend: DriverBackend,
        send: Callable[[], Awaitable[bytes]],
    ) -> bytes:
        """Send a request that creates a new session from `source`, and return the response once that session is signed."""
        binding = self._binding(key, backend)
        async with binding.lock:
            if self._is_live(binding, backend):
                raise RequestRefusedError(
                    "a Spark session with the new session id already exists; choose another session id"
                )
            answer = await send()
            await self._sign(binding, credential, backend)
            binding.own_settings = set(source.own_settings)
        self._use(binding, credential)
        return answer

    async def release(self, key: SessionKey, backend: DriverBackend, send: Callable[[], Awaitable[bytes]]) -> bytes:
        """End the session: invalidate its handle first, then release it in the driver."""
        binding = self._binding(key, backend)
        async with binding.lock:
            await self._end(binding)
            return await send()

    def find(self, key: SessionKey, backend: DriverBackend) -> Binding:
        """Return a session; one that is not open has no handle."""
        return self._bindings.get((backend.name, key)) or Binding(key)

    def of_handle(self, handle: str) -> Binding | None:
        """Return the session that has a handle, or None."""
        return next((each for each in self._bindings.values() if each.handle == handle), None)

    def list_streaming(self) -> tuple[Binding, ...]:
        """Return the open sessions in which streaming queries were started."""
        return tuple(each for each in self._bindings.values() if each.streams and each.handle)

    def touch(self, binding: Binding) -> None:
        """Record a use of a session, so that it does not expire during a long statement."""
        if binding.handle:
            binding.used = self._clock()
            self._used.add(binding.handle)

    def put_back(self, used: Iterable[str]) -> None:
        """Record uses again, because the report with them failed."""
        self._used.update(used)

    def take_used(self) -> tuple[str, ...]:
        """Return the handles that were used since the last call."""
        used, self._used = tuple(self._used), set()
        return used

    def drop(self, gone: Iterable[str]) -> None:
        """Forget invalid handles: their sessions are opened again at the next use."""
        dead = frozenset(gone)
        for binding in tuple(self._bindings.values()) if dead else ():
            if binding.handle in dead:
                binding.handle = ""

    def prune(self) -> None:
        """Forget the sessions that have ended. Sessions with streams are kept until the streams are stopped."""
        for place, binding in tuple(self._bindings.items()):
            over = not binding.handle or (self._is_idle(binding) and not binding.streams)
            if over and not binding.lock.locked():
                del self._bindings[place]

    def __len__(self) -> int:
        return sum(1 for each in self._bindings.values() if each.handle)

    def _binding(self, key: SessionKey, backend: DriverBackend) -> Binding:
        return self._bindings.setdefault((backend.name, key), Binding(key))

    def _use(self, binding: Binding, credential: PresentedCredential) -> None:
        binding.credential = credential
        self.touch(binding)

    def _is_idle(self, binding: Binding) -> bool:
        return self._clock() - binding.used > _LIVES

    def _is_live(self, binding: Binding, backend: DriverBackend) -> bool:
        begun = binding.backend.endpoint if binding.backend else None
        return bool(binding.handle) and begun == backend.endpoint and not self._is_idle(binding)

    async def _sign(self, binding: Binding, credential: PresentedCredential, backend: DriverBackend) -> None:
        await self._end(binding)
        endpoint: DriverEndpoint = backend.endpoint
        opened = await self._authority.open(credential, binding.key.session_id, endpoint)
        try:
            said = {PRINCIPAL_KEY: opened.signature, HANDLE_KEY: opened.handle, POOL_KEY: binding.key.pool}
            binding.server_side_id = await backend.configure(binding.key, said)
        except BaseException:
            await self._authority.close(opened.handle)
            raise
        binding.handle, binding.backend, binding.used = opened.handle, backend, self._clock()
        binding.checkpoints, binding.reads = SessionCheckpoints(), RepeatedReads()
        binding.streams, binding.own_settings = False, set()

    async def _end(self, binding: Binding) -> None:
        handle, binding.handle = binding.handle, ""
        if handle:
            await self._authority.close(handle)
