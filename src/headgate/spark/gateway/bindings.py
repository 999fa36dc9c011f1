"""Which Spark sessions are signed: each begins with the caller's handle in its configuration, before anything else."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from headgate.facts.caller import Caller
from headgate.spark.gateway.backend import Backend
from headgate.spark.gateway.checkpoints import Checkpoints
from headgate.spark.gateway.errors import ExhaustedError, RefusedError
from headgate.spark.gateway.identity import SessionKey
from headgate.spark.sessions import Sessions, TooManySessionsError
from headgate.spark.signature import sign_session

PRINCIPAL_KEY: Final = "spark.headgate.principal.token"
HANDLE_KEY: Final = "spark.sql.catalog.lake.token-handle"


@dataclass(slots=True)
class _Binding:
    handle: str = ""
    generation: int = -1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)


class Bindings:
    """The handle of every Spark session that the gateway has begun."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._bindings: dict[SessionKey, _Binding] = {}

    async def ensure(self, key: SessionKey, caller: Caller, backend: Backend) -> None:
        """Return once the session is signed; nothing else of it reaches the driver before. Raises `ExhaustedError`.

        A session whose handle is dead, or that an earlier start of the driver had, begins anew: Iceberg keeps the
        handle that a session first used, so the old session would never reach the catalog again.
        """
        binding = self._bindings.setdefault(key, _Binding())
        async with binding.lock:
            if not self._is_live(binding, backend):
                await backend.forget(key)
                await self._sign(binding, key, caller, backend)

    async def clone(
        self, key: SessionKey, caller: Caller, backend: Backend, send: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """Send a request that makes a new session, and return the answer once that session is signed itself."""
        binding = self._bindings.setdefault(key, _Binding())
        async with binding.lock:
            if self._is_live(binding, backend):
                raise RefusedError("the new session exists already; choose another id")
            answer = await send()
            await self._sign(binding, key, caller, backend)
            return answer

    async def release(self, key: SessionKey, send: Callable[[], Awaitable[bytes]]) -> bytes:
        """End the session: its handle dies first, then the driver is told."""
        binding = self._bindings.setdefault(key, _Binding())
        async with binding.lock:
            self._sessions.close(binding.handle)
            binding.handle = ""
            return await send()

    def checkpoints(self, key: SessionKey) -> Checkpoints:
        """Return the relations that the session may name by id; one that is not begun may name none."""
        binding = self._bindings.get(key)
        return binding.checkpoints if binding else Checkpoints()

    def touch(self, key: SessionKey) -> None:
        """Count a use of the session, so that it does not expire under a long statement."""
        binding = self._bindings.get(key)
        if binding is not None:
            self._sessions.caller(binding.handle)

    def _is_live(self, binding: _Binding, backend: Backend) -> bool:
        return binding.generation == backend.generation and self._sessions.caller(binding.handle) is not None

    async def _sign(self, binding: _Binding, key: SessionKey, caller: Caller, backend: Backend) -> None:
        self._sessions.close(binding.handle)
        self._prune()
        try:
            handle = self._sessions.open(caller, key.session_id)
        except TooManySessionsError as error:
            raise ExhaustedError(str(error)) from None
        try:
            await backend.configure(key, {PRINCIPAL_KEY: sign_session(backend.key, handle), HANDLE_KEY: handle})
        except BaseException:
            self._sessions.close(handle)
            raise
        binding.handle, binding.generation = handle, backend.generation
        binding.checkpoints = Checkpoints()

    def _prune(self) -> None:
        """Drop the bindings of dead handles once they outnumber the living."""
        if len(self._bindings) <= 2 * len(self._sessions) + 100:
            return
        dead = [
            key
            for key, binding in self._bindings.items()
            if not binding.lock.locked() and not self._sessions.is_open(binding.handle)
        ]
        for key in dead:
            del self._bindings[key]
