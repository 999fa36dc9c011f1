"""Sessions for statements over HTTP: one for each credential, so that temporary views and variables are kept."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.spark.authority import PresentedCredential

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

KEPT = 32
"""The number of sessions above which unused ones are ended."""


class ClientSession:
    """The Spark session of a credential, and the number of statements that use it now."""

    def __init__(self, credential: PresentedCredential) -> None:
        self.credential = credential
        self.users = 0
        self.gone = False
        self._lock = threading.Lock()
        self._spark: SparkSession | None = None

    @property
    def is_open(self) -> bool:
        """Whether the session was opened, so that its driver may have ended since."""
        with self._lock:
            return self._spark is not None

    def spark(self, connect: Callable[[PresentedCredential], "SparkSession"]) -> "SparkSession":
        """Return the session; open it at the first use."""
        with self._lock:
            if self._spark is None:
                self._spark = connect(self.credential)
            return self._spark

    def stop(self) -> None:
        """End the session explicitly: garbage collection would call the server from an arbitrary thread."""
        with self._lock:
            if self._spark is not None:
                self._spark.stop()


class ClientSessions:
    """Credential -> session. Thread-safe. Statements of one credential share a session; least recently used ones are ended."""

    def __init__(self, connect: Callable[[PresentedCredential], "SparkSession"]) -> None:
        self.connect = connect
        self._lock = threading.Lock()
        self._sessions: OrderedDict[PresentedCredential, ClientSession] = OrderedDict()

    def take(self, credential: PresentedCredential) -> ClientSession:
        """Return the credential's session, and keep it until `give_back`."""
        with self._lock:
            session = self._sessions.setdefault(credential, ClientSession(credential))
            self._sessions.move_to_end(credential)
            session.users += 1
            return session

    def give_back(self, session: ClientSession) -> None:
        """Release the session after its use."""
        with self._lock:
            session.users -= 1
            ended = self._evict()
            if session.gone and not session.users:
                ended.append(session)
        for each in ended:
            each.stop()

    def forget(self, session: ClientSession) -> None:
        """Forget a session that was lost with its driver: the next statement opens a new one."""
        with self._lock:
            session.gone = True
            if self._sessions.get(session.credential) is session:
                del self._sessions[session.credential]

    def close(self) -> None:
        """End every session."""
        with self._lock:
            ended = tuple(self._sessions.values())
            self._sessions.clear()
        for each in ended:
            each.stop()

    def _evict(self) -> list[ClientSession]:
        idle = [each for each in self._sessions.values() if not each.users]
        over = idle[: max(0, len(self._sessions) - KEPT)]
        for each in over:
            del self._sessions[each.credential]
        return over
