"""Hearing from PostgreSQL that a log has moved on. Nothing rests on it: what was not heard is read when it is needed."""

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
"""What is done about a log's new revision."""

_LOOK_SECONDS = 0.5
"""How often the thread looks whether it should end."""
_AGAIN_SECONDS = 1.0
_KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}


def listen_for_revisions(engine: Engine, heard: OnRevision, tasks: BackgroundTasks) -> Callable[[], None]:
    """Call `heard`, in a thread of its own, for every revision that is told; return what ends that."""
    ended = threading.Event()
    # No promise needs it: every question reads the newest revisions by itself.
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
            logger.warning("the store tells nothing of new revisions (%s); they are read when they are needed", error)
            ended.wait(_AGAIN_SECONDS)


def _tell(heard: OnRevision, payload: str) -> None:
    root, _, revision = payload.rpartition(":")
    if not revision.isdecimal():
        return
    try:
        heard(ResourceId(root), int(revision))
    except Exception:
        logger.exception("what follows from revision %s of `%s` failed", revision, root)
