"""Sessions: opaque handles, each of which stands for one caller in one Spark session."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from headgate.facts.caller import Caller

HANDLE_PREFIX = "hgs_"
IDLE_SECONDS = 2 * 60 * 60.0
"""Longer than Spark keeps an idle session (one hour), so that a handle never dies before its session."""
LIMIT = 10_000
PER_PRINCIPAL = 500


class TooManySessionsError(Exception):
    """The caller, or everybody together, holds as many sessions as there may be."""


@dataclass(slots=True)
class _Session:
    caller: Caller
    session_id: str
    used: float


class SparkSessions:
    """Handle -> caller, in memory and for every thread. An unused handle expires; an unknown one is nobody."""

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
        """Least recently used first."""

    def open(self, caller: Caller, session_id: str) -> str:
        """Return a new handle for the caller's Spark session. Raises `TooManySessionsError`."""
        with self._lock:
            self._expire()
            held = sum(1 for session in self._sessions.values() if session.caller.principal == caller.principal)
            if len(self._sessions) >= self._limit or held >= self._per_principal:
                raise TooManySessionsError("too many open sessions; release some of them or wait until they expire")
            handle = HANDLE_PREFIX + secrets.token_urlsafe(32)
            self._sessions[handle] = _Session(caller, session_id, self._clock())
            return handle

    def caller(self, handle: str) -> Caller | None:
        """Return whom the handle stands for, and count that as a use; None if it stands for nobody."""
        with self._lock:
            self._expire()
            session = self._sessions.get(handle)
            if session is None:
                return None
            session.used = self._clock()
            self._sessions.move_to_end(handle)
            return session.caller

    def peek(self, handle: str) -> Caller | None:
        """Return whom the handle stands for, without counting that as a use."""
        with self._lock:
            self._expire()
            session = self._sessions.get(handle)
            return session.caller if session else None

    def is_open(self, handle: str) -> bool:
        """Tell whether the handle stands for somebody, without counting that as a use."""
        return self.peek(handle) is not None

    def close(self, handle: str) -> None:
        """Make the handle stand for nobody. Closing an unknown handle changes nothing."""
        with self._lock:
            self._sessions.pop(handle, None)

    def close_where(self, matches: Callable[[Caller], bool]) -> int:
        """Close every session whose caller matches (a dead token, a finished run) and return how many."""
        with self._lock:
            found = [handle for handle, session in self._sessions.items() if matches(session.caller)]
            for handle in found:
                del self._sessions[handle]
            return len(found)

    def list_open(self) -> tuple[tuple[Caller, str], ...]:
        """Return the caller and the Spark session of every handle."""
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
