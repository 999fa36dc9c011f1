"""Running operations with their required privileges: an operation is cancelled when one of them is revoked."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from headgate.control.kernel.ports import LogRefusedError
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.authority import STREAM, Revocation
from headgate.spark.sessions.privileges import ObjectNames, RequiredName, RequiredPrivilege
from headgate.spark.sessions.result_privileges import DecidesPrivileges
from headgate.spark.sessions.sessions import SparkSessions

PER_SESSION: Final = 1000
"""The limit of recorded operations of one session; further ones are refused."""
UNHEARD_SECONDS: Final = 30.0
"""Seconds for which an operation is kept that no report lists as running: the next report may list it."""
SESSION_ENDED: Final = "the Spark session of the operation has ended; check what it has changed before you run it again in a new Spark session"
UNREADABLE: Final = (
    "the privileges of your organization cannot be read at the moment; run the statement again in a few seconds"
)
_READ: Final = "table.select"

OperationKey = tuple[str, str]
"""A session's handle, and the id of an operation in it."""


class NamesResources(DecidesPrivileges, Protocol):
    """Decides on required privileges and names resources: `headgate.spark.sessions.privileges.PrivilegeChecker`."""

    def full_name(self, resource: ResourceId, /) -> ObjectNames | None:
        """Return the full name of a resource now, or None if it was deleted."""
        ...


class TooManyOperationsError(Exception):
    """A session has too many running operations."""


@dataclass(slots=True)
class _Kept:
    at: float
    needs: dict[RequiredPrivilege, ResourceId | None] = field(
        default_factory=dict[RequiredPrivilege, ResourceId | None]
    )
    """Each required privilege once, in order of arrival, with the resource that it named when it was last allowed."""
    has_ended: bool = False
    """Whether it is a stream that has ended: the driver keeps its progress as long as the session."""


class RunningOperations:
    """The running operations, with the privileges that each was allowed. Thread-safe."""

    def __init__(
        self, sessions: SparkSessions, judge: NamesResources, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sessions = sessions
        self._judge = judge
        self._clock = clock
        self._lock = threading.Lock()
        self._works: dict[str, dict[str, _Kept]] = {}
        """Handle -> operation -> the privileges that it was allowed."""

    def record(self, handle: str, operation: str, needs: Iterable[RequiredPrivilege]) -> None:
        """Record privileges that an operation was allowed, in addition to earlier ones. Raises `TooManyOperationsError`."""
        named = {need: self._judge.resource(need) for need in needs}
        with self._lock:
            of_session = self._works.setdefault(handle, {})
            kept = of_session.pop(operation, None) or _Kept(0.0)
            _make_room(of_session)
            of_session[operation] = kept
            kept.at, kept.has_ended = self._clock(), False
            kept.needs.update(named)

    def revoked(self, running: Collection[OperationKey]) -> list[Revocation]:
        """Check again all recorded privileges, and the callers of the `running` operations; return those to cancel.

        Recorded operations that do not run are forgotten after a while. A stream is returned until it has `ended`.
        """
        with self._lock:
            self._forget(running)
            needs: dict[OperationKey, Mapping[RequiredPrivilege, ResourceId | None]] = {work: {} for work in running}
            for handle, of_session in self._works.items():
                needs |= {
                    (handle, operation): dict(kept.needs)
                    for operation, kept in of_session.items()
                    if not kept.has_ended
                }
        answers = ((work, self._find_refusal(work[0], each)) for work, each in needs.items())
        return [Revocation(*work, message) for work, message in answers if message is not None]

    def refusal(self, handle: str, operation: str) -> str | None:
        """Check again all privileges that one operation was allowed; return why one is refused now, or None."""
        with self._lock:
            kept = self._works.get(handle, {}).get(operation)
            needs = dict(kept.needs) if kept else {}
        return self._find_refusal(handle, needs)

    def finished(self, handle: str, operation: str) -> None:
        """Forget an operation. Those of a stream are kept until its session ends, because its progress remains readable."""
        with self._lock:
            of_session = self._works.get(handle, {})
            if operation.startswith(STREAM) and operation in of_session:
                of_session[operation].has_ended = True
            else:
                of_session.pop(operation, None)

    def clear(self) -> None:
        """Forget all operations."""
        with self._lock:
            self._works.clear()

    def __len__(self) -> int:
        with self._lock:
            return sum(not kept.has_ended for of_session in self._works.values() for kept in of_session.values())

    def _find_refusal(self, handle: str, needs: Mapping[RequiredPrivilege, ResourceId | None]) -> str | None:
        caller = self._sessions.peek(handle)
        if caller is None:
            return SESSION_ENDED
        try:
            return _refusal(self._judge, caller, needs)
        except LogRefusedError:
            # No decision is possible in this organization; that must not delay the decisions on the others.
            return UNREADABLE

    def _forget(self, running: Collection[OperationKey]) -> None:
        """Forget operations that do not run any more, and the streams of sessions that have ended."""
        heard, oldest = set(running), self._clock() - UNHEARD_SECONDS
        for handle, of_session in list(self._works.items()):
            streams = self._sessions.is_open(handle)
            kept = {
                operation: each
                for operation, each in of_session.items()
                if each.at > oldest or (handle, operation) in heard or (streams and operation.startswith(STREAM))
            }
            if kept:
                self._works[handle] = kept
            else:
                del self._works[handle]


def _refusal(
    judge: NamesResources, caller: Caller, allowed: Mapping[RequiredPrivilege, ResourceId | None]
) -> str | None:
    """Decide again on the privileges that an operation was allowed; return why one is not allowed now, or None.

    A statement that drops or renames a table loses its privileges on the old name by its own success. It may continue
    to read a renamed table only if the caller may read it under the new name, which the message does not reveal.
    """
    spent = _spent(judge, allowed)
    why = _refusal_without(spent, judge, caller, allowed)
    # The statement may have dropped more resources meanwhile. Repeat only once: a user must not gain from endless renames.
    later = _spent(judge, allowed) if why else spent
    return why if later == spent else _refusal_without(later, judge, caller, allowed)


def _refusal_without(
    spent: Mapping[RequiredName, ResourceId],
    judge: NamesResources,
    caller: Caller,
    allowed: Iterable[RequiredPrivilege],
) -> str | None:
    moved = next((need for need, resource in spent.items() if not _may_read_on(judge, caller, need, resource)), None)
    if moved is not None:
        return f"`{'.'.join(moved.object)}` was renamed, and you may not read it under its new name; ask the owner of the table for access"
    return judge.refusal(caller, [need for need in allowed if need not in spent])


def _spent(
    judge: NamesResources, allowed: Mapping[RequiredPrivilege, ResourceId | None]
) -> dict[RequiredName, ResourceId]:
    """Return the privileges whose name no longer names their resource, if the operation was allowed to drop it or a parent."""
    named = {need: resource for need, resource in allowed.items() if isinstance(need, RequiredName) and resource}
    dropped = {need.object for need in named if need.is_removed}
    return {
        need: resource
        for need, resource in named.items()
        if any(need.object[:depth] in dropped for depth in range(1, len(need.object) + 1))
        and judge.resource(need) != resource
    }


def _may_read_on(judge: NamesResources, caller: Caller, need: RequiredName, resource: ResourceId) -> bool:
    """Whether the caller may read a renamed resource under its new name; also true if it was not read, or was deleted."""
    name = judge.full_name(resource) if need.action == _READ and not need.is_removed else None
    return name is None or judge.refusal(caller, [need.model_copy(update={"object": name})]) is None


def _make_room(of_session: dict[str, _Kept]) -> None:
    """Forget the stream whose last privilege check is oldest: its next batch is checked again. Raises `TooManyOperationsError`."""
    if len(of_session) < PER_SESSION:
        return
    stream = next((operation for operation in of_session if operation.startswith(STREAM)), None)
    if stream is None:
        raise TooManyOperationsError(
            f"the Spark session has more than {PER_SESSION:,} running operations; cancel some of them"
        )
    del of_session[stream]
