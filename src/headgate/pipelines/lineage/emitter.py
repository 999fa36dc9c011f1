"""Sends the OpenLineage events of runs to a receiver, from a bounded queue, so that no run waits for the receiver."""

import logging
import queue
import threading
from dataclasses import dataclass
from typing import Any, Final

import httpx

from headgate.control.kernel.run_queue import ENDED_STATES, RunRow
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.control.organizations.organization import Organization
from headgate.pipelines.lineage.recorder import RunTrace

log = logging.getLogger(__name__)

_WAITING: Final = 1000
"""The maximum number of queued events. Further ones are logged and not sent; they can be exported later."""
_TRIES: Final = 6
_TIMEOUT: Final = 10.0
_AWAY: Final = 503
_REFUSED: Final = 300
_WORTH_TRYING: Final = (408, 425, 429, 500, 502, _AWAY, 504)


@dataclass(frozen=True, slots=True)
class Receiver:
    """The URL to which events are posted, and the bearer key."""

    url: str
    key: str = ""


class Sending:
    """Posts events in the order of their arrival. Failed posts are retried with exponential backoff."""

    def __init__(self, receiver: Receiver, wait: float = 1.0, tasks: BackgroundTasks | None = None) -> None:
        """`wait` is the time in seconds before the second try; each further wait is twice as long."""
        self._receiver = receiver
        self._wait = wait
        self._queue: queue.Queue[tuple[Organization, RunRow, RunTrace] | None] = queue.Queue(_WAITING)
        self._ending = threading.Event()
        self._thread = (tasks or BackgroundTasks()).start_thread(
            "lineage", self._send_all, "events of runs do not reach the lineage receiver"
        )

    def send(self, organization: Organization, row: RunRow, trace: RunTrace) -> None:
        """Queue the event of a run that has begun or ended."""
        try:
            self._queue.put_nowait((organization, row, trace))
        except queue.Full:
            log.warning(
                "the event queue of %s is full; an event of the run `%s` is not sent", self._receiver.url, row.run
            )

    def close(self, seconds: float = 5.0) -> None:
        """Send the queued events, for at most this number of seconds, and stop."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            self._ending.set()
        self._thread.stop(seconds)
        self._ending.set()

    def _send_all(self) -> None:
        headers = {"authorization": f"Bearer {self._receiver.key}"} if self._receiver.key else {}
        with httpx.Client(headers=headers, timeout=_TIMEOUT) as client:
            while (told := self._queue.get()) is not None and not self._ending.is_set():
                try:
                    self._send(client, _event(*told), told[1])
                except Exception:
                    # An event that cannot be sent does not block the others.
                    log.exception("an event of the run `%s` could not be sent", told[1].run)

    def _send(self, client: httpx.Client, event: dict[str, Any], row: RunRow) -> None:
        status = _AWAY
        for tried in range(_TRIES):
            if tried and self._ending.wait(self._wait * 2 ** (tried - 1)):
                break
            status = self._post(client, event)
            if status not in _WORTH_TRYING:
                break
        if status >= _REFUSED:
            log.warning("%s refused an event of the run `%s` with the status %d", self._receiver.url, row.run, status)

    def _post(self, client: httpx.Client, event: dict[str, Any]) -> int:
        try:
            return client.post(self._receiver.url, json=event).status_code
        except httpx.TransportError:
            return _AWAY


def _event(organization: Organization, row: RunRow, trace: RunTrace) -> dict[str, Any]:
    # Imported in this thread: the import is slow, and most deployments send no events.
    from headgate.pipelines.lineage.events import EventBuilder

    teller = EventBuilder(organization.control.snapshot)
    return teller.build_end(row, trace) if row.state in ENDED_STATES else teller.build_start(row)
