"""The sessions in which statements over HTTP run: one for each credential, so that temporary views and variables last."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.spark.authority import PresentedCredential

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

KEPT = 32
"""How many are kept that nobody uses now."""


class ClientSession:
    """The Spark session of a credential, and how many statements use it now."""

    def __init__(self, credential: PresentedCredential) -> None:
        self.credential = credential
        self.users = 0
        self.gone = False
        self._lock = threading.Lock()
        self._spark: SparkSession | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has been used, so that the driver it lives in may have ended since."""
        with self._lock:
            return self._spark is not None

    def spark(self, connect: Callable[[PresentedCredential], "SparkSession"]) -> "SparkSession":
        """Return the session, which is opened at its first use."""
        with self._lock:
            if self._spark is None:
                self._spark = connect(self.credential)
            return self._spark

    def stop(self) -> None:
        """End it: not left to the collector, which would call the server from wherever it happens to run."""
        with self._lock:
            if self._spark is not None:
                self._spark.stop()


class ClientSessions:
    """Credential -> session, for every thread; any number of statements share one. The least used ones end."""

    def __init__(self, connect: Callable[[PresentedCredential], "SparkSession"]) -> None:
        self.connect = connect
        self._lock = threading.Lock()
        self._sessions: OrderedDict[PresentedCredential, ClientSession] = OrderedDict()

    def take(self, credential: PresentedCredential) -> ClientSession:
        """Return the credential's session, which lasts until it is given back at least."""
        with self._lock:
            session = self._sessions.setdefault(credential, ClientSession(credential))
            self._sessions.move_to_end(credential)
            session.users += 1
            return session

    def give_back(self, session: ClientSession) -> None:
        """Use it no longer."""
        with self._lock:
            session.users -= 1
            ended = self._evict()
            if session.gone and not session.users:
                ended.append(session)
        for each in ended:
            each.stop()

    def forget(self, session: ClientSession) -> None:
        """Begin a new one at the next statement: this one is gone, with the driver it was in."""
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
