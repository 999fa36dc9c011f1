"""Running operations: those that a driver has or may still receive. Each is tracked until the driver has confirmed its end."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from headgate.facts.ids import PrincipalId
from headgate.spark.authority import PresentedCredential
from headgate.spark.gateway.call import ActiveCall
from headgate.spark.gateway.call_identity import SessionKey
from headgate.spark.gateway.driver_channel import DriverBackend
from headgate.spark.gateway.errors import ExhaustedError, GatewayError, InvalidRequestError

PER_PRINCIPAL: Final = 64
"""The limit of running operations of one principal."""
PER_DRIVER: Final = 512
"""The limit of running operations of all principals in one driver. Each operation has threads in the driver."""
BYTES_PER_PRINCIPAL: Final = 32 * 1024 * 1024
"""The limit of bytes of one principal's running statements and analyses; a single one may be larger.

The driver holds each statement several times while it plans it: as received, as parsed text, and as literals of a plan.
"""
RETAINED_BYTES: Final = 256 * 1024
"""Bytes of received responses that the driver may keep; the gateway sends it the next release when there are more."""
DETACHED_SECONDS: Final = 300.0
"""Seconds for which a reattachable operation without a client is kept. Spark keeps it equally long."""
ARRIVAL_SECONDS: Final = 30.0
"""Seconds that a driver may take to register a plan after the call that sent it has ended; other calls may overtake it."""
REMEMBERED_SECONDS: Final = 330.0
"""Seconds for which the error of a cancelled operation is kept for a client that reattaches."""


class OperationKind(Enum):
    """The kind of an operation. Spark can interrupt a statement; an analysis ends only by itself."""

    STATEMENT = "statement"
    ANALYSIS = "analysis"


@dataclass(slots=True, eq=False)
class Operation:
    """One operation in the driver. `error` is set when its results must no longer be returned, and says why."""

    key: SessionKey
    id: str
    handle: str
    principal: PrincipalId
    backend: DriverBackend
    size: int = 0
    """Bytes of the request to the driver."""
    begun_by: ActiveCall | None = None
    """The call of the client that began it."""
    unreleased: int = 0
    """Bytes of the responses that the client has received since the driver last released responses."""
    stays: bool = False
    """Whether the operation is reattachable: a client may reattach to it after the call has ended."""
    kind: OperationKind = OperationKind.STATEMENT
    left: float = 0.0
    calls: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])
    error: GatewayError | None = None
    is_known: bool = False
    """Whether the driver has shown that it has the operation. Before that, "nothing to interrupt" may mean "not yet arrived"."""
    ended: bool = False
    """Whether the driver has confirmed that it ended or was released."""

    def abort(self, error: GatewayError) -> None:
        """Cancel the calls that relay its results; they and all later ones raise `error`."""
        self.error = self.error or error
        for call in self.calls:
            call.cancel()

    def require(self) -> None:
        """Raise the error with which the operation was cancelled, if any."""
        if self.error is not None:
            raise self.error


class Operations:
    """Operations by driver and id.

    The guard identifies an operation by its id alone. So an id is unique in a driver, whichever client chose it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._operations: dict[tuple[str, str], Operation] = {}
        self._begun = dict[PresentedCredential, dict[Operation, None]]()
        self._held = Counter[PrincipalId]()
        self._in_driver = Counter[str]()
        self._bytes = Counter[PrincipalId]()

    def begin(self, operation: Operation) -> Operation:
        """Start to track an operation. Raises `ExhaustedError`, and `GatewayError` if the id is in use."""
        found = self._operations.get(_place(operation))
        if found is not None:
            if found.key == operation.key:
                found.require()
            raise InvalidRequestError(
                "[INVALID_HANDLE.OPERATION_ALREADY_EXISTS] an operation with the same id is already running; choose another operation id"
            )
        self._require_room(operation)
        self._bytes[operation.principal] += operation.size
        if operation.kind is OperationKind.STATEMENT:
            self._held[operation.principal] += 1
            self._in_driver[operation.backend.name] += 1
        operation.left = self._clock()
        self._operations[_place(operation)] = operation
        if operation.begun_by is not None:
            self._begun.setdefault(operation.begun_by.credential, {})[operation] = None
        return operation

    def find(self, backend: DriverBackend, key: SessionKey, id: str) -> Operation | None:
        """Return the tracked operation of this session and id, or None."""
        found = self._operations.get((backend.name, id))
        return found if found is not None and found.key == key else None

    def find_begun(self, credential: PresentedCredential) -> ActiveCall | None:
        """Return the call with this credential that began the newest of its running operations; None if there is none.

        Operations that were cancelled do not count: the credential may have been revoked.
        """
        begun = reversed(self._begun.get(credential, {}))
        return next((each.begun_by for each in begun if each.error is None and not each.backend.closed), None)

    def of_handle(self, handle: str, id: str) -> Operation | None:
        """Return an operation by its session's handle, or None."""
        return next((each for each in self._operations.values() if (each.handle, each.id) == (handle, id)), None)

    @contextmanager
    def attach(self, operation: Operation) -> Iterator[None]:
        """Attach the current task as one that relays its results. Raises the operation's error if it is cancelled meanwhile."""
        operation.require()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a call is served by a task)
        operation.calls.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if operation.error is not None:
                task.uncancel()
            operation.require()
            raise
        except Exception:
            operation.require()
            raise
        finally:
            operation.calls.discard(task)
            operation.left = self._clock()

    def end(self, operation: Operation) -> None:
        """Stop tracking an operation, and keep its error for a while.

        An untracked operation that still runs would escape limits and revocation. So the caller must have one of these
        proofs from the driver: the end of a result stream to which no client may reattach, the response to an analysis, a
        release that names the operation, or an interrupt that found nothing when `may_arrive` was false.
        """
        if operation.ended:
            return
        operation.ended, operation.left = True, self._clock()
        if operation.begun_by is not None:
            self._drop(operation, operation.begun_by.credential)
        self._bytes[operation.principal] -= operation.size
        self._bytes += Counter()
        if operation.kind is OperationKind.STATEMENT:
            self._held[operation.principal] -= 1
            self._held += Counter()
            self._in_driver[operation.backend.name] -= 1
            self._in_driver += Counter()
        if operation.error is None:
            self._forget(operation)

    def may_arrive(self, operation: Operation) -> bool:
        """Whether the driver may still register the operation's plan; until then, not finding the operation proves nothing."""
        return not operation.is_known and self._clock() < operation.left + ARRIVAL_SECONDS

    def of_session(self, backend: DriverBackend, key: SessionKey) -> tuple[Operation, ...]:
        """Return the statements of a session."""
        return tuple(
            each
            for each in self._operations.values()
            if (each.backend.name, each.key, each.kind) == (backend.name, key, OperationKind.STATEMENT)
        )

    def list_running(self) -> tuple[Operation, ...]:
        """Return the operations that have not ended, and forget the errors of those that ended long ago."""
        oldest = self._clock() - REMEMBERED_SECONDS
        for each in tuple(self._operations.values()):
            if each.ended and not each.calls and each.left < oldest:
                self._forget(each)
        return tuple(each for each in self._operations.values() if not each.ended)

    def list_unattended(self) -> tuple[Operation, ...]:
        """Return the statements to interrupt: cancelled ones, and those for which no client waits any more."""
        return tuple(
            each for each in self.list_running() if each.kind is OperationKind.STATEMENT and self._is_unattended(each)
        )

    def _require_room(self, operation: Operation) -> None:
        if operation.kind is OperationKind.STATEMENT and self._held[operation.principal] >= PER_PRINCIPAL:
            raise ExhaustedError(
                f"you have {PER_PRINCIPAL} running operations, as many as one principal may have; wait for one of them to end"
            )
        if operation.kind is OperationKind.STATEMENT and self._in_driver[operation.backend.name] >= PER_DRIVER:
            raise ExhaustedError(
                f"your organization's Spark runs {PER_DRIVER} operations of all its users, which is its limit; retry in a few "
                "seconds (you do not have to end operations of your own)"
            )
        held = self._bytes[operation.principal]
        if held and held + operation.size > BYTES_PER_PRINCIPAL:
            raise ExhaustedError(
                "the SQL texts and DataFrame plans of your running statements are together larger than "
                f"{BYTES_PER_PRINCIPAL // 1024 // 1024} MiB; wait for one of the statements to end"
            )

    def _is_unattended(self, operation: Operation) -> bool:
        if operation.error is not None or operation.backend.closed:
            return True
        patience = DETACHED_SECONDS if operation.stays else 0.0
        return not operation.calls and operation.left + patience < self._clock()

    def _drop(self, operation: Operation, credential: PresentedCredential) -> None:
        begun = self._begun.get(credential, {})
        begun.pop(operation, None)
        if not begun:
            self._begun.pop(credential, None)

    def _forget(self, operation: Operation) -> None:
        if self._operations.get(_place(operation)) is operation:
            del self._operations[_place(operation)]


def _place(operation: Operation) -> tuple[str, str]:
    return operation.backend.name, operation.id
