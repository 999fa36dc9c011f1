"""The audit of decisions: who was denied what, and, where the level says so, who was allowed."""

import logging
import queue
import threading
from typing import Literal

from headgate.control.ports import AuditRecord, StoreError, Stores
from headgate.facts.ids import ResourceId

log = logging.getLogger(__name__)

Level = Literal["changes", "denied", "all"]
"""What is kept besides the log of changes: nothing more, what was denied, or every decision."""

_AT_ONCE = 1000
_GATHERING = 0.1
"""Seconds for which records gather before they are written: one write for each would cost more than all decisions."""
_END = None


class Audit:
    """Takes records without keeping a caller waiting, and writes them in a thread of its own, many in one write.

    A record that cannot be written is tried again until the store is back; `waiting` says how many there are.
    """

    def __init__(self, stores: Stores, level: Level = "denied") -> None:
        self._stores = stores
        self._level = level
        self._queue: queue.SimpleQueue[tuple[ResourceId, AuditRecord] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, name="audit", daemon=True)
        self._thread.start()

    @property
    def everything(self) -> bool:
        """Whether allowed decisions are kept too."""
        return self._level == "all"

    @property
    def waiting(self) -> int:
        """How many records are not written yet."""
        return self._queue.qsize()

    def record(self, root: ResourceId, record: AuditRecord) -> None:
        """Keep a record of a log, if the level says so."""
        if self._level == "all" or (self._level == "denied" and not record.allowed):
            self._queue.put((root, record))

    def close(self) -> None:
        """Write what is waiting, and end."""
        self._ended.set()
        self._queue.put(_END)
        self._thread.join()

    def _write(self) -> None:
        ended = False
        while not ended:
            records = [self._queue.get()]
            self._ended.wait(_GATHERING)
            while len(records) < _AT_ONCE and not self._queue.empty():
                records.append(self._queue.get())
            ended = _END in records
            self._until_written([each for each in records if each is not None])

    def _until_written(self, records: list[tuple[ResourceId, AuditRecord]]) -> None:
        while records:
            try:
                self._stores.audit(records)
            except StoreError:
                log.exception("%d records of the audit wait for the store", len(records))
                if self._ended.wait(1.0):
                    return
            else:
                return
