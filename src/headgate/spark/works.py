"""Work that is under way on Spark, and what it needs: when a right goes, the work that stands on it goes too."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from headgate.facts.caller import Caller
from headgate.spark.needs import Need
from headgate.spark.sessions import Sessions

STREAM: Final = "stream:"
"""How the operation of a streaming query begins: it goes on after the call that started it."""
PER_SESSION: Final = 1000
"""More operations of one session are not kept in mind, and so not allowed."""
_ENDED: Final = "the session that this was started in has ended"

Work = tuple[str, str]
"""A session's handle, and an operation of it."""
Refusal = Callable[[Caller, Sequence[Need]], str | None]


class TooMuchWorkError(Exception):
    """A session has more under way than can be kept in mind."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Work that is not allowed any more, and why, for who started it."""

    handle: str
    operation: str
    message: str


class Works:
    """What runs now, with everything that was allowed for it. Safe to use from several threads."""

    def __init__(self, sessions: Sessions, refusal: Refusal) -> None:
        self._sessions = sessions
        self._refusal = refusal
        self._lock = threading.Lock()
        self._works: dict[str, dict[str, dict[Need, None]]] = {}
        """Handle -> operation -> needs, each once and in the order in which they came."""

    def record(self, handle: str, operation: str, needs: Iterable[Need]) -> None:
        """Keep in mind what an operation was allowed, beside what it was allowed before. Raises `TooMuchWorkError`."""
        with self._lock:
            of_session = self._works.setdefault(handle, {})
            if operation not in of_session and len(of_session) >= PER_SESSION:
                raise TooMuchWorkError("too much is under way in this session; end some of it")
            of_session.setdefault(operation, {}).update(dict.fromkeys(needs))

    def refused(self, running: Iterable[Work] = ()) -> list[Refused]:
        """Ask again about all that is recorded, and about who runs what is `running`; return what may not go on.

        It is returned each time until it has `ended`.
        """
        with self._lock:
            works = dict.fromkeys(running, ())
            for handle, of_session in self._works.items():
                works |= {(handle, operation): tuple(needs) for operation, needs in of_session.items()}
        answers = ((work, self._refused(work[0], needs)) for work, needs in works.items())
        return [Refused(*work, message) for work, message in answers if message is not None]

    def ended(self, handle: str, operation: str) -> None:
        """Forget an operation."""
        with self._lock:
            of_session = self._works.get(handle, {})
            of_session.pop(operation, None)
            if not of_session:
                self._works.pop(handle, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._works.clear()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._works.values()))

    def _refused(self, handle: str, needs: Sequence[Need]) -> str | None:
        caller = self._sessions.peek(handle)
        return _ENDED if caller is None else self._refusal(caller, needs)
