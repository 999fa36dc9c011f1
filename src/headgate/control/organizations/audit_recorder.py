"""Audit of decisions: records denied requests and, depending on the audit level, allowed ones."""

import logging
import queue
import threading
from dataclasses import replace

from headgate.control.kernel.audit_records import AuditLevel, AuditRecord, Denial
from headgate.control.kernel.ports import RequestOrigin, StoreError
from headgate.control.kernel.stores import Stores
from headgate.control.kernel.supervision import BackgroundTasks, Heartbeat
from headgate.control.organizations.organization import Organization
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

log = logging.getLogger(__name__)

_AT_ONCE = 1000
_GATHERING = 0.1
"""Seconds for which records are collected before a write: a write for each record would cost more than all decisions."""
_IDLE = 5.0
"""Seconds without a record after which a round ends."""
_LATE = 30.0
"""Seconds without a successful round after which the audit counts as not running."""
LONGEST_RESOURCE = 1000
"""The maximum length, in characters, of a client's resource name in a record."""
LONGEST_ACTION = 200
"""The maximum length, in characters, of an action in a record."""
_END = None


class AuditRecorder:
    """Queues records without blocking the caller, and writes them in a background thread, many in one write.

    A record that cannot be written is retried until the store is available; `backlog` is the number of waiting records.
    """

    def __init__(self, stores: Stores, level: AuditLevel = "denied", tasks: BackgroundTasks | None = None) -> None:
        self._stores = stores
        self._level = level
        self._queue: queue.SimpleQueue[tuple[ResourceId, AuditRecord] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._unwritten = list[tuple[ResourceId, AuditRecord]]()
        """Records that have left the queue but are not written: a restarted thread writes them."""
        self._heartbeat = Heartbeat(_LATE)
        self._thread = (tasks or BackgroundTasks()).start_thread(
            "audit", self._write, "decisions are missing from the audit", self._heartbeat
        )

    @property
    def is_recording_everything(self) -> bool:
        """Whether allowed decisions are recorded too."""
        return self._level == "all"

    @property
    def backlog(self) -> int:
        """The number of records that are not written yet."""
        return self._queue.qsize() + len(self._unwritten)

    def record(self, root: ResourceId, record: AuditRecord) -> None:
        """Queue a record of a log, if the audit level includes it."""
        if self._level == "all" or (self._level == "denied" and not record.allowed):
            self._queue.put((root, _cut(record)))

    def record_denial(
        self, organization: Organization, caller: Caller | None, denial: Denial, door: str, request: str = ""
    ) -> None:
        """Record that an endpoint denied a request in this organization. `caller` is None if it is unknown there."""
        control = organization.control
        record = AuditRecord(
            at=control.now,
            principal=caller.principal if caller else None,
            action=denial.action,
            resource=denial.resource,
            allowed=False,
            revision=control.snapshot.revision,
            code=denial.code,
            origin=RequestOrigin(door, request, caller.token if caller else None),
        )
        self.record(organization.id, record)

    def close(self) -> None:
        """Write the queued records, and stop."""
        self._ended.set()
        self._queue.put(_END)
        self._thread.stop()

    def _write(self) -> None:
        while True:
            self._write_until_empty()
            self._heartbeat.beat()
            if self._ended.is_set() and self._queue.empty():
                return
            try:
                self._take(self._queue.get(timeout=_IDLE))
            except queue.Empty:
                continue
            self._ended.wait(_GATHERING)
            while len(self._unwritten) < _AT_ONCE and not self._queue.empty():
                self._take(self._queue.get())

    def _take(self, record: tuple[ResourceId, AuditRecord] | None) -> None:
        if record is not None:
            self._unwritten.append(record)

    def _write_until_empty(self) -> None:
        """Write the records that have left the queue. Drops them only if the store fails while the recorder closes."""
        while self._unwritten:
            try:
                self._stores.audit(self._unwritten)
            except StoreError:
                log.exception("%d audit records cannot be written to the store; they are retried", len(self._unwritten))
                if self._ended.wait(1.0):
                    self._unwritten.clear()
            else:
                self._unwritten.clear()


def _cut(record: AuditRecord) -> AuditRecord:
    """Return the record with its texts from the client cut to their maximum length."""
    if len(record.action) <= LONGEST_ACTION and len(record.resource) <= LONGEST_RESOURCE:
        return record
    return replace(record, action=record.action[:LONGEST_ACTION], resource=record.resource[:LONGEST_RESOURCE])
