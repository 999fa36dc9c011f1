"""Spark sessions: opaque handles, each of which represents one caller in one Spark session."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from headgate.facts.caller import Caller

HANDLE_PREFIX = "hgs_"
IDLE_SECONDS = 2 * 60 * 60.0
"""Longer than Spark keeps an idle session (one hour), so that a handle never expires before its session."""
LIMIT = 10_000
PER_PRINCIPAL = 500


class TooManySessionsError(Exception):
    """The limit of open sessions is reached: that of the caller, or of all callers together."""


@dataclass(slots=True)
class _Session:
    caller: Caller
    session_id: str
    used: float


class SparkSessions:
    """The open sessions: handle -> caller, in memory. Thread-safe. An unused handle expires; an unknown one has no caller."""

    def __init__(
        self,
        *,
        limit: int = LIMIT,
        per_principal: int = PER_PRINCIPAL,
        idle: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._per_principal = per_principal
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        """Ordered by last use, oldest first."""

    def open(self, caller: Caller, session_id: str) -> str:
        """Return a new handle for the caller's Spark session. Raises `TooManySessionsError`."""
        with self._lock:
            self._expire()
            held = sum(1 for session in self._sessions.values() if session.caller.principal == caller.principal)
            if len(self._sessions) >= self._limit or held >= self._per_principal:
                raise TooManySessionsError(
                    "too many Spark sessions are open; stop some of them, or wait until some expire"
                )
            handle = HANDLE_PREFIX + secrets.token_urlsafe(32)
            self._sessions[handle] = _Session(caller, session_id, self._clock())
            return handle

    def caller(self, handle: str) -> Caller | None:
        """Return the caller of the handle, and record a use; None for an invalid handle."""
        with self._lock:
            self._expire()
            session = self._sessions.get(handle)
            if session is None:
                return None
            session.used = self._clock()
            self._sessions.move_to_end(handle)
            return session.caller

    def peek(self, handle: str) -> Caller | None:
        """Return the caller of the handle without recording a use; None for an invalid handle."""
        with self._lock:
            self._expire()
            session = self._sessions.get(handle)
            return session.caller if session else None

    def is_open(self, handle: str) -> bool:
        """Whether the handle is valid, without recording a use."""
        return self.peek(handle) is not None

    def close(self, handle: str) -> None:
        """Invalidate the handle. Closing an unknown handle has no effect."""
        with self._lock:
            self._sessions.pop(handle, None)

    def close_where(self, matches: Callable[[Caller], bool]) -> int:
        """Close every session whose caller matches (such as a revoked token or a finished run); return the number."""
        with self._lock:
            found = [handle for handle, session in self._sessions.items() if matches(session.caller)]
            for handle in found:
                del self._sessions[handle]
            return len(found)

    def list_open(self) -> tuple[tuple[Caller, str], ...]:
        """Return the caller and the Spark session id of every valid handle."""
        with self._lock:
            self._expire()
            return tuple((each.caller, each.session_id) for each in self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._sessions)

    def _expire(self) -> None:
        oldest = self._clock() - self._idle
        while self._sessions:
            handle, session = next(iter(self._sessions.items()))
            if session.used > oldest:
                return
            del self._sessions[handle]
