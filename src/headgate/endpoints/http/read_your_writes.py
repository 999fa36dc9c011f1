"""Read-your-writes consistency: with other writing processes, the newest revisions are read before a request is answered."""

import asyncio

import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.organization import Organizations
from headgate.endpoints.common.problems import unavailable_response


class FreshnessBarrier:
    """Shares one read among all waiting requests: a read that begins after a request arrived is fresh enough for it."""

    def __init__(self, organizations: Organizations, *, shares_checks: bool = False) -> None:
        """`shares_checks` is for connections without TLS, which hands data over later than it was received."""
        self._organizations = organizations
        self._shares_checks = shares_checks
        self._reading: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None
        self._moves = 0
        self._known = 0
        self._fresh_loop: asyncio.AbstractEventLoop | None = None
        """The event loop in whose present turn the logs were new enough."""

    async def wait(self) -> None:
        """Wait until every open log is as new as the store was at some moment after the call."""
        if self._is_new_enough():
            return
        if self._next is None:
            self._next = asyncio.create_task(self._read_after(self._reading))
        await asyncio.shield(self._next)

    def is_here(self) -> bool:
        """Whether every open log is already that new, so that `wait` returns at once. Called where data of a connection is received.

        With `shares_checks`, the connections from which one turn of the event loop receives data share a check: each of them had
        data when the turn began, so that no request is sent after a write that the check does not see.
        """
        loop = asyncio.get_running_loop()
        if self._fresh_loop is loop:
            return True
        if not self._is_new_enough():
            return False
        if self._shares_checks:
            self._fresh_loop = loop
            loop.call_soon(self._end_turn)
        return True

    def _end_turn(self) -> None:
        self._fresh_loop = None

    def _is_new_enough(self) -> bool:
        stores = self._organizations.stores
        if stores.changed_elsewhere():
            self._moves += 1
            # A store that can detect changes is a local file: reading it takes less time than waiting for a thread.
            if not stores.changed_elsewhere() and not self._organizations.is_stale():
                self._known = self._moves
        # A log that could not be read is read again with every request, whatever the store reports.
        return self._known == self._moves and not self._organizations.is_any_refused

    def _read(self) -> None:
        moves = self._moves
        self._organizations.refresh()
        self._known = max(self._known, moves)

    async def _read_after(self, reading: "asyncio.Task[None] | None") -> None:
        if reading is not None:
            await asyncio.wait({reading})
        self._reading, self._next = self._next, None
        await anyio.to_thread.run_sync(self._read)


class FreshnessMiddleware:
    """Waits for the newest revisions before it passes a request on; without them it responds 503, never with old data."""

    def __init__(self, app: ASGIApp, freshness: FreshnessBarrier) -> None:
        self._app = app
        self._freshness = freshness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            try:
                await self._freshness.wait()
            except StoreError as error:
                await unavailable_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)
