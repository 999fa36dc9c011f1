"""Queues of writes: those that wait in an event loop at the same time are written together, in a thread."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import anyio.to_thread

from headgate.control.command_writer import MAX_GROUP, WriteResult
from headgate.control.control import Control
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.write_responses import WriteResponse
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class SubmittedWrite:
    """The response to a submitted command, and the future of its result."""

    reply: WriteResponse
    result: Future[WriteResult]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that waits for its write."""

    submit: Callable[[], SubmittedWrite]
    done: asyncio.Future[WriteResponse]


_Key = tuple[asyncio.AbstractEventLoop, ResourceId]
"""An event loop, and an organization for which requests wait in it."""


class WriteQueues:
    """Collects the plain writes that wait at the same time, for each organization, and writes them together in a thread."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, deque[_Waiting]] = {}
        self._tasks = set[asyncio.Task[None]]()

    async def write(self, organization: Organization, submit: Callable[[], SubmittedWrite]) -> WriteResponse:
        """Submit a command in a thread, and return its response once it is written. Raises what the command raises."""
        loop = asyncio.get_running_loop()
        waiting, key = _Waiting(submit, loop.create_future()), (loop, organization.id)
        there = self._waiting.get(key)
        if there is None:
            self._waiting[key] = deque((waiting,))
            task = asyncio.create_task(self._serve(key, organization.control))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            there.append(waiting)
        return await waiting.done

    async def _serve(self, key: _Key, control: Control) -> None:
        """Write until nothing waits. If that fails, every waiting request gets the error."""
        waiting: Sequence[_Waiting] = ()
        try:
            while key in self._waiting:
                there = self._waiting[key]
                waiting = [there.popleft() for _ in range(min(len(there), MAX_GROUP))]
                outcomes = await anyio.to_thread.run_sync(_write_together, control, waiting)
                # Before the responses: this task may not run again after them.
                if not self._waiting[key]:
                    del self._waiting[key]
                for each, outcome in zip(waiting, outcomes, strict=True):
                    _report(each, outcome)
        except BaseException as error:
            for each in (*waiting, *self._waiting.pop(key, ())):
                _report(each, error)
            raise


def _report(waiting: _Waiting, outcome: WriteResponse | BaseException) -> None:
    if waiting.done.done():
        return  # the client has gone, or it has its response
    if isinstance(outcome, WriteResponse):
        waiting.done.set_result(outcome)
    else:
        waiting.done.set_exception(outcome)


def _write_together(control: Control, waiting: Sequence[_Waiting]) -> list[WriteResponse | BaseException]:
    """Submit every command, write them, and return their responses or errors."""
    submitted = [_submit(each) for each in waiting]
    while not all(each.result.done() for each in submitted if isinstance(each, SubmittedWrite)):
        control.write_submitted()
    return [each if isinstance(each, Exception) else each.result.exception() or each.reply for each in submitted]


def _submit(waiting: _Waiting) -> SubmittedWrite | Exception:
    try:
        return waiting.submit()
    except Exception as error:  # noqa: BLE001 (the request gets it, and no other one)
        return error
