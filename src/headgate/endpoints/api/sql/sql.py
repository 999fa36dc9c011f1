"""SQL over HTTP: each request runs one statement as the caller, through the same gateway as every Spark Connect client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from headgate.control.kernel.errors import NotFoundError
from headgate.endpoints.api.sql.arrow import ArrowStream
from headgate.endpoints.api.sql.pages import StatementPage
from headgate.endpoints.api.sql.schemas import ARROW, PAGE, ROWS_PER_PAGE, RowTooLargeError, Statement, StatementCreate
from headgate.endpoints.common.context import (
    CurrentApp,
    CurrentCaller,
    Presents,
    require_spark_of_request,
)
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import caller_only
from headgate.endpoints.common.schemas import Called
from headgate.facts.caller import Caller
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore, StoredStatement
from headgate.spark.sql.statements import Execution

if TYPE_CHECKING:
    import pyarrow as pa

router = ApiRouter(tags=["sql"], dependencies=[Depends(require_spark_of_request)])

GONE = "the client has disconnected"
_MOST_ROWS = "maximum number of rows; the response has fewer if more would exceed its maximum size"
_CUT = "the result exceeds the server's limit of rows or bytes; select less, or accept a part of it with `limit` or `bytes`"

_TOO_LARGE = {"description": "The body, or one row of the result, is too large."}
_OWN = caller_only("only the caller that sent the statement can use it, with the same token")
_RUN = caller_only("Spark's guard decides on everything that the statement touches")
_RUN["responses"] = _RUN["responses"] | {
    200: {
        "content": {ARROW: {}},
        "description": "The rows of the statement; an Arrow stream if the client accepts one.",
    },
    202: {"model": Statement, "description": "The statement is running; `Location` is the path of its state and rows."},
    413: _RUN["responses"][413] | _TOO_LARGE,
}
_OWN["responses"] = _OWN["responses"] | {413: _OWN["responses"][413] | _TOO_LARGE}


@router.post("/sql", response_model=Statement, **_RUN)
async def create_statement(
    body: StatementCreate, request: Request, deployed: CurrentApp, credential: Presents, caller: CurrentCaller
) -> Response:
    """Run a SQL statement.

    A refusal is a problem with SQLSTATE 42501, the reason, the missing privilege and the link to request access.
    """
    statements = deployed.statements
    if ARROW in request.headers.get("accept", ""):
        if body.wait_seconds is not None:
            raise ProblemError(
                422,
                "invalid",
                "`wait_seconds` has no effect on an Arrow stream, which begins with the first rows; leave it out",
            )
        return await _stream_rows(statements, body, request, credential, caller)
    kept = statements.start(credential, caller.principal, body.to_request(statements.limits, kept=True))
    try:
        ended = await _wait_until_ended(kept, request, body.wait_seconds)
        return await _first_page(statements, kept, request, caller, ended=ended)
    except RowTooLargeError:
        raise
    except BaseException:
        statements.drop(kept, GONE)
        raise


async def _first_page(
    statements: StatementStore, kept: StoredStatement, request: Request, caller: Caller, *, ended: bool
) -> Response:
    async with StatementPage(statements, kept, caller) as page:
        if ended and kept.error is not None:
            raise kept.error
        await page.make(0, PAGE, is_kept=not ended)
        if not ended:
            location = str(request.url_for("get_statement", statement=kept.id).path)
            return page.response(202, {"location": location})
        if page.next is None:
            statements.drop(kept)
        return page.response()


@router.get("/sql/{statement}", response_model=Statement, **_OWN)
async def get_statement(
    statement: Called,
    request: Request,
    deployed: CurrentApp,
    credential: Presents,
    caller: CurrentCaller,
    start: Annotated[int, Query(ge=0, description="number of the first row")] = 0,
    rows: Annotated[int, Query(ge=1, le=PAGE, description=_MOST_ROWS)] = ROWS_PER_PAGE,
    wait_seconds: Annotated[
        float, Query(ge=0, le=3600, description="maximum time to wait for the statement to end")
    ] = 0.0,
) -> Response:
    """Get the state of a statement and, once it has succeeded, the rows from `start` on that fit into one response."""
    kept = _require_statement(deployed.statements, credential, statement)
    await _wait_until_ended(kept, request, wait_seconds)
    async with StatementPage(deployed.statements, kept, caller) as page:
        await page.make(start, rows, is_kept=True)
        return page.response()


@router.delete("/sql/{statement}", status_code=204, **_OWN)
def cancel_statement(statement: Called, deployed: CurrentApp, credential: Presents, _: CurrentCaller) -> None:
    """Cancel a statement if it still runs, and delete its result."""
    deployed.statements.drop(_require_statement(deployed.statements, credential, statement))


def _require_statement(statements: StatementStore, credential: PresentedCredential, id: str) -> StoredStatement:
    found = statements.find(credential, id)
    if found is None:
        raise NotFoundError(
            f"you have no statement `{id}`; results are kept for a limited time, so run the statement again if it has expired"
        )
    return found


async def _wait_until_ended(kept: StoredStatement, request: Request, seconds: float | None) -> bool:
    """Wait until a statement has ended, for at most `seconds`. Return whether it has ended.

    Raises `ProblemError` if the client disconnects while it waits.
    """
    kept.waiting += 1
    gone = asyncio.create_task(_wait_until_gone(request))
    ended = asyncio.wrap_future(kept.ended)
    try:
        await asyncio.wait({gone, ended}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        kept.waiting -= 1
        gone.cancel()
    if gone.done() and not gone.cancelled() and not ended.done():
        raise ProblemError(499, "gone", GONE)
    return ended.done()


async def _wait_until_gone(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _stream_rows(
    statements: StatementStore, body: StatementCreate, request: Request, credential: PresentedCredential, caller: Caller
) -> Response:
    """Return a response that streams the rows as Spark produces them, and keeps in memory only the batch that is being sent."""
    reading = statements.begin(credential, caller.principal, body.to_request(statements.limits, kept=False))
    loop, workers = asyncio.get_running_loop(), statements.workers
    watch = asyncio.create_task(_cancel_when_gone(request, reading))

    async def close() -> None:
        watch.cancel()
        reading.cancel(GONE)
        # Submitted to the pool, because a future of the loop would be cancelled with the request before its thread starts.
        await asyncio.shield(asyncio.wrap_future(workers.submit(reading.close)))

    try:
        _, schema = await loop.run_in_executor(workers, reading.open)
    except BaseException:
        await close()
        raise
    wanted_less = body.limit is not None or body.bytes is not None

    async def rows() -> AsyncIterator[bytes]:
        stream, batches = ArrowStream(schema), reading.batches()
        while (piece := await loop.run_in_executor(workers, _next_piece, reading, batches, stream, caller)) is not None:
            yield piece
        if reading.more and not wanted_less:
            # A truncated result must not look complete: the stream stops without its end-of-stream marker.
            raise ProblemError(413, "too-large", _CUT)
        # Before the end of the response, so that the place is free for the client's next statement.
        await close()
        yield stream.end()

    return _StreamedRows(rows(), close)


def _next_piece(
    reading: Execution, batches: Iterator["pa.RecordBatch"], stream: ArrowStream, caller: Caller
) -> bytes | None:
    """Return the next rows after deciding again that the caller may read them, or None after the last rows."""
    batch = next(batches, None)
    if batch is None:
        return None
    # Spark sends the rows of a script in an operation without required privileges, which the gateway would not end on a revoke.
    reading.decide_again(caller)
    return stream.batch(batch)


class _StreamedRows(StreamingResponse):
    """An Arrow stream. Its statement is closed when the response ends, even if nothing was sent."""

    def __init__(self, rows: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]) -> None:
        super().__init__(rows, media_type=ARROW)
        self._close = close

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._close()


async def _cancel_when_gone(request: Request, reading: Execution) -> None:
    await _wait_until_gone(request)
    reading.cancel(GONE)
