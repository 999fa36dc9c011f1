"""Pages of the rows of a statement: each within a bounded size, few at once, and counted until their clients have read them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Self

import anyio.to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from headgate.endpoints.api.sql.schemas import Statement, statement_answer
from headgate.facts.caller import Caller
from headgate.spark.sql.statement_store import StatementStore, StoredStatement

_PIECE = 256 * 1024
_JSON = "application/json"


class StatementPage:
    """A statement with some of its rows as JSON. Enter it before it is made; `response` keeps it until it is sent."""

    def __init__(self, statements: StatementStore, kept: StoredStatement, caller: Caller) -> None:
        self.next: int | None = None
        """Where the rows after it begin."""
        self._statements = statements
        self._kept = kept
        self._caller = caller
        self._body = b""
        self._place = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._place.aclose()

    async def make(self, start: int, rows: int, *, is_kept: bool) -> None:
        """Make it; with the id of the statement if that has more rows or `is_kept`.

        Raises:
            StatementError: the caller may not read the rows now, or too many pages are in memory.
            ProblemError: the first row is too large, or has a value that JSON cannot hold.
        """
        try:
            if self._kept.rows is None:
                # None of those that come meanwhile: they are asked for by `next`, and wait for their turn.
                await anyio.to_thread.run_sync(self._make, start, 0, is_kept)
                return
            owner = self._kept.reading.principal
            await self._place.enter_async_context(self._statements.pages.turn(owner))
            async with self._statements.making.turn(owner):
                await anyio.to_thread.run_sync(self._make, start, rows, is_kept)
        finally:
            # Last, so that it counts for rows that have just come, and for an error that quotes a value of them.
            await anyio.to_thread.run_sync(self._kept.decide_again, self._caller)

    def _make(self, start: int, rows: int, is_kept: bool) -> None:  # noqa: FBT001 (a thread takes no keywords)
        answer = statement_answer(self._kept, start, rows)
        self.next = answer.next
        self._body = _encode(answer if is_kept or answer.next is not None else answer.model_copy(update={"id": None}))

    def response(self, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        """Return the answer, which takes the place of the page over: it is given back when the client has read it."""
        return _PageResponse(self._body, status, headers, self._place.pop_all())


class _PageResponse(StreamingResponse):
    """An answer in pieces: what the client has not read yet is still counted."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str] | None, place: AsyncExitStack) -> None:
        super().__init__(_pieces(body), status, {**(headers or {}), "content-length": str(len(body))}, _JSON)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._place.aclose()


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _encode(answer: Statement) -> bytes:
    # As the model writes it: the framework's own way knows no words for numbers that are none.
    return answer.model_dump_json().encode()
