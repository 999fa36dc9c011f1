"""What a serving deployment does now and then: take over news, write checkpoints, erase what has ended by itself."""

import logging
import threading

from headgate.app.deployment import Deployment
from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.supervision import Heartbeat
from headgate.facts.ids import ResourceId

log = logging.getLogger(__name__)

MAINTENANCE_SECONDS = 60.0
"""Seconds between two rounds."""
_MISSED = 5
"""So many rounds may be missed."""
_ENDANGERS = "expired sessions and logins stay in the store, and the next start replays more"


class Housekeeping:
    """A thread beside the endpoints. No decision needs it: without it, starts replay more and news is fetched when asked for."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._ended = threading.Event()
        self._deaf = deployment.stores.listen(self._take_over, deployment.tasks)
        self._heartbeat = Heartbeat(_MISSED * MAINTENANCE_SECONDS)
        self._thread = deployment.tasks.start_thread("housekeeping", self._rounds, _ENDANGERS, self._heartbeat)

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._deaf()
        self._thread.stop()

    def _take_over(self, root: ResourceId, revision: int) -> None:
        try:
            self._deployment.organizations.hear(root, revision)
        except StoreError:
            log.warning("news of `%s` could not be read; the next question does", root)

    def _rounds(self) -> None:
        while not self._ended.wait(MAINTENANCE_SECONDS):
            try:
                self._deployment.organizations.keep()
                self._deployment.auth_services.tidy()
            except StoreError:
                log.exception("a round waits for the store")
            else:
                self._heartbeat.beat()
