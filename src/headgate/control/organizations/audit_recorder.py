"""The audit of decisions: who was denied what, and, where the level says so, who was allowed."""

import logging
import queue
import threading
from dataclasses import replace
from typing import Literal

from headgate.control.kernel.audit_records import AuditRecord, Denial
from headgate.control.kernel.ports import RequestOrigin, StoreError
from headgate.control.kernel.stores import Stores
from headgate.control.kernel.supervision import BackgroundTasks, Heartbeat
from headgate.control.organizations.organization import Organization
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

log = logging.getLogger(__name__)

AuditLevel = Literal["changes", "denied", "all"]
"""What is kept besides the log of changes: nothing more, what was denied, or every decision."""

_AT_ONCE = 1000
_GATHERING = 0.1
"""Seconds for which records gather before they are written: one write for each would cost more than all decisions."""
_IDLE = 5.0
"""Seconds without a record after which a round ends."""
_LATE = 30.0
"""Seconds without a round that succeeded after which the audit counts as not running."""
LONGEST_RESOURCE = 1000
"""A record keeps this many characters of a name that a client wrote."""
LONGEST_ACTION = 200
"""And this many of an action."""
_END = None


class AuditRecorder:
    """Takes records without keeping a caller waiting, and writes them in a thread of its own, many in one write.

    A record that cannot be written is tried again until the store is back; `waiting` says how many there are.
    """

    def __init__(self, stores: Stores, level: AuditLevel = "denied", tasks: BackgroundTasks | None = None) -> None:
        self._stores = stores
        self._level = level
        self._queue: queue.SimpleQueue[tuple[ResourceId, AuditRecord] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._unwritten = list[tuple[ResourceId, AuditRecord]]()
        """Records that have left the queue: a thread that fails finds them again."""
        self._heartbeat = Heartbeat(_LATE)
        self._thread = (tasks or BackgroundTasks()).start_thread(
            "audit", self._write, "decisions are missing from the audit", self._heartbeat
        )

    @property
    def is_recording_everything(self) -> bool:
        """Whether allowed decisions are kept too."""
        return self._level == "all"

    @property
    def backlog(self) -> int:
        """How many records are not written yet."""
        return self._queue.qsize() + len(self._unwritten)

    def record(self, root: ResourceId, record: AuditRecord) -> None:
        """Keep a record of a log, if the level says so."""
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
        """Write what is waiting, and end."""
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
        """Write what was taken, unless the store is away when this ends."""
        while self._unwritten:
            try:
                self._stores.audit(self._unwritten)
            except StoreError:
                log.exception("%d records of the audit wait for the store", len(self._unwritten))
                if self._ended.wait(1.0):
                    self._unwritten.clear()
            else:
                self._unwritten.clear()


def _cut(record: AuditRecord) -> AuditRecord:
    """Return the record with as much as is kept of the texts that a client wrote."""
    if len(record.action) <= LONGEST_ACTION and len(record.resource) <= LONGEST_RESOURCE:
        return record
    return replace(record, action=record.action[:LONGEST_ACTION], resource=record.resource[:LONGEST_RESOURCE])
