"""What a serving deployment does now and then: take over news, write checkpoints, erase what has ended by itself."""

import logging
import threading

from headgate.app.deployment import Deployment
from headgate.control.ports import StoreError
from headgate.facts.ids import ResourceId

log = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two rounds."""


class Housekeeping:
    """A thread beside the doors. Nothing rests on it: without it, starts replay more and news is fetched when asked for."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._ended = threading.Event()
        self._deaf = deployment.stores.listen(self._heard)
        self._thread = threading.Thread(target=self._rounds, name="housekeeping", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._deaf()
        self._thread.join()

    def _heard(self, root: ResourceId, revision: int) -> None:
        try:
            self._deployment.organizations.catch_up({root: revision})
        except StoreError:
            log.warning("news of `%s` could not be read; the next question does", root)

    def _rounds(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                self._deployment.organizations.keep()
                self._deployment.entrance.tidy()
            except StoreError:
                log.exception("a round waits for the store")
