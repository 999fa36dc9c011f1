"""Notifications from PostgreSQL (`LISTEN`) of new revisions. They are an optimization: every read fetches missed revisions."""

import logging
import threading
from collections.abc import Callable

import psycopg
from sqlalchemy import Engine

from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.ids import ResourceId
from headgate.store.postgresql import CHANNEL, CONNECT_SECONDS

logger = logging.getLogger(__name__)

OnRevision = Callable[[ResourceId, int], None]
"""Called with the root of a log and its new revision."""

_LOOK_SECONDS = 0.5
"""The interval in seconds at which the thread checks whether it has to stop."""
_AGAIN_SECONDS = 1.0
_KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}


def listen_for_revisions(engine: Engine, heard: OnRevision, tasks: BackgroundTasks) -> Callable[[], None]:
    """Start a thread that calls `heard` for every revision notified, and return a function that stops the thread."""
    ended = threading.Event()
    # No guarantee depends on the thread: every decision reads the newest revisions by itself.
    thread = tasks.start_thread("listener", lambda: _listen(engine, heard, ended), "")

    def stop() -> None:
        ended.set()
        thread.stop()

    return stop


def _listen(engine: Engine, heard: OnRevision, ended: threading.Event) -> None:
    positional, given = engine.dialect.create_connect_args(engine.url)
    options = {**given, **_KEEPALIVE, "connect_timeout": CONNECT_SECONDS, "application_name": "headgate listener"}
    while not ended.is_set():
        try:
            with psycopg.connect(*positional, autocommit=True, **options) as connection:
                connection.execute(f"LISTEN {CHANNEL}".encode())
                while not ended.is_set():
                    for told in connection.notifies(timeout=_LOOK_SECONDS):
                        _tell(heard, told.payload)
        except psycopg.Error as error:
            logger.warning(
                "notifications of new revisions are interrupted (%s); reconnecting; revisions are still read on demand",
                error,
            )
            ended.wait(_AGAIN_SECONDS)


def _tell(heard: OnRevision, payload: str) -> None:
    root, _, revision = payload.rpartition(":")
    if not revision.isdecimal():
        return
    try:
        heard(ResourceId(root), int(revision))
    except Exception:
        logger.exception("the handler of the notification of revision %s of the log `%s` failed", revision, root)
