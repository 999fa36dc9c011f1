"""Pages of the rows of a statement: of bounded size and bounded number in memory, counted until the clients have read them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Self

import anyio.to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from headgate.endpoints.api.sql.schemas import Statement, statement_answer
from headgate.facts.caller import Caller
from headgate.spark.sql.statement_store import StatementStore, StoredStatement

_PIECE = 256 * 1024
_JSON = "application/json"


class StatementPage:
    """A statement with some of its rows as JSON.

    Use it as a context manager: it holds one of the places for pages in memory. `response` keeps the place until the
    response is sent.
    """

    def __init__(self, statements: StatementStore, kept: StoredStatement, caller: Caller) -> None:
        self.next: int | None = None
        """The number of the first row after the page, or None."""
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
        """Build the page. It has the id of the statement if more rows follow or the statement `is_kept`.

        Raises:
            StatementError: the caller may not read the rows now, or too many pages are in memory.
            ProblemError: the first row is too large, or has a value that JSON cannot hold.
        """
        try:
            if self._kept.rows is None:
                # Without the rows that arrive meanwhile: the client gets them with `next`, after waiting for its turn.
                await anyio.to_thread.run_sync(self._make, start, 0, is_kept)
                return
            owner = self._kept.reading.principal
            await self._place.enter_async_context(self._statements.pages.turn(owner))
            async with self._statements.making.turn(owner):
                await anyio.to_thread.run_sync(self._make, start, rows, is_kept)
        finally:
            # Last, so that it also covers rows that arrived just now, and an error that quotes one of their values.
            await anyio.to_thread.run_sync(self._kept.decide_again, self._caller)

    def _make(self, start: int, rows: int, is_kept: bool) -> None:  # noqa: FBT001 (a thread takes no keywords)
        answer = statement_answer(self._kept, start, rows)
        self.next = answer.next
        self._body = _encode(answer if is_kept or answer.next is not None else answer.model_copy(update={"id": None}))

    def response(self, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        """Return the response, which takes over the page's place in memory and frees it when the client has read the page."""
        return _PageResponse(self._body, status, headers, self._place.pop_all())


class _PageResponse(StreamingResponse):
    """A response in chunks: the page keeps its place in memory until the client has read all of it."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str] | None, place: AsyncExitStack) -> None:
        super().__init__(_pieces(body), status, {**(headers or {}), "content-length": str(len(body))}, _JSON)
        self._place = place

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._place.aclose()


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _encode(answer: Statement) -> bytes:
    # By the model: the framework's own encoder cannot write NaN and infinite numbers.
    return answer.model_dump_json().encode()
