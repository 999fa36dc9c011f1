"""Housekeeping of a serving deployment: reads new log entries, writes checkpoints, deletes expired sessions and logins."""

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
"""Rounds that may be missed before the thread counts as stuck."""
_ENDANGERS = "expired sessions and logins stay in the store, and the next start of the server takes longer"


class Housekeeping:
    """A housekeeping thread. No decision depends on it.

    Without it, the next start replays more entries, and new entries are read when a question needs them.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._ended = threading.Event()
        self._deaf = deployment.stores.listen(self._take_over, deployment.tasks)
        self._heartbeat = Heartbeat(_MISSED * MAINTENANCE_SECONDS)
        self._thread = deployment.tasks.start_thread("housekeeping", self._rounds, _ENDANGERS, self._heartbeat)

    def close(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._deaf()
        self._thread.stop()

    def _take_over(self, root: ResourceId, revision: int) -> None:
        try:
            self._deployment.organizations.hear(root, revision)
        except StoreError:
            log.warning("new changes of the organization `%s` could not be read; the next request reads them", root)

    def _rounds(self) -> None:
        while not self._ended.wait(MAINTENANCE_SECONDS):
            try:
                self._deployment.organizations.keep()
                self._deployment.auth_services.tidy()
            except StoreError:
                log.exception(
                    "a round of housekeeping failed, because the store is not available; the next round tries again"
                )
            else:
                self._heartbeat.beat()
