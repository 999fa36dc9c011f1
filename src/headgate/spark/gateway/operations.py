"""The operations under way: whose they are, which calls bring their results, and whether they may go on."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from headgate.facts.ids import PrincipalId
from headgate.spark.gateway.backend import Backend
from headgate.spark.gateway.errors import ExhaustedError, RefusedError
from headgate.spark.gateway.identity import SessionKey

PER_PRINCIPAL: Final = 64
"""Operations of one principal at the same time."""
LEFT_SECONDS: Final = 330.0
"""Longer than Spark keeps an operation that no call is attached to (five minutes)."""


@dataclass(slots=True, eq=False)
class Operation:
    """One operation in the driver. `refusal` says why it may not go on, once that is so."""

    key: SessionKey
    id: str
    handle: str
    principal: PrincipalId
    backend: Backend
    stays: bool
    """Whether a client may come back for it when the call has ended."""
    left: float = 0.0
    calls: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])
    refusal: str | None = None
    interrupted: bool = False
    """Whether the driver was told that it is refused."""

    def cut(self, refusal: str) -> None:
        """End the calls that bring its results; they and those that come later are refused."""
        self.refusal = refusal
        for call in self.calls:
            call.cancel()

    def require(self) -> None:
        """Raise `RefusedError` if it may not go on."""
        if self.refusal is not None:
            raise RefusedError(self.refusal)


class Operations:
    """Those under way, by session and id."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._operations: dict[tuple[str, SessionKey, str], Operation] = {}
        self._held = Counter[PrincipalId]()

    def begin(self, operation: Operation) -> Operation:
        """Take up an operation; one that is under way already goes on as it is. Raises `ExhaustedError`."""
        found = self._operations.get(_place(operation))
        if found is not None:
            return found
        if self._held[operation.principal] >= PER_PRINCIPAL:
            raise ExhaustedError(f"{PER_PRINCIPAL} operations of yours are under way; wait for one of them to end")
        self._held[operation.principal] += 1
        self._operations[_place(operation)] = operation
        return operation

    def find(self, backend: Backend, key: SessionKey, id: str) -> Operation | None:
        """Return an operation that is under way, or None."""
        return self._operations.get((backend.name, key, id))

    def of_handle(self, handle: str, id: str) -> Operation | None:
        """Return an operation by its session's handle, or None."""
        return next((each for each in self._operations.values() if (each.handle, each.id) == (handle, id)), None)

    @contextmanager
    def attached(self, operation: Operation) -> Iterator[None]:
        """Let the present task bring its results. Raises `RefusedError` where it is cut meanwhile."""
        operation.require()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a call is served by a task)
        operation.calls.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if operation.refusal is not None:
                task.uncancel()
            operation.require()
            raise
        except Exception:
            operation.require()
            raise
        finally:
            operation.calls.discard(task)
            operation.left = self._clock()
            if not operation.stays:
                self.end(operation)

    def end(self, operation: Operation) -> None:
        """Forget an operation."""
        if self._operations.pop(_place(operation), None) is not None:
            self._held[operation.principal] -= 1
            self._held += Counter()

    def end_session(self, backend: Backend, key: SessionKey) -> None:
        """Forget the operations of a session that ends."""
        for each in tuple(self._operations.values()):
            if (each.backend.name, each.key) == (backend.name, key):
                self.end(each)

    def running(self) -> tuple[Operation, ...]:
        """Return those under way, and forget those that no client came back for."""
        oldest = self._clock() - LEFT_SECONDS
        for each in tuple(self._operations.values()):
            if not each.calls and each.left < oldest:
                self.end(each)
        return tuple(self._operations.values())


def _place(operation: Operation) -> tuple[str, SessionKey, str]:
    return operation.backend.name, operation.key, operation.id
