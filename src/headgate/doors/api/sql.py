"""SQL over HTTP: one statement at a time, as the caller, through the same gateway as everybody."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from headgate.control.command import MissingError
from headgate.doors.api.arrow import Stream
from headgate.doors.api.bodies import Called
from headgate.doors.api.routing import own
from headgate.doors.api.sql_messages import ARROW, PAGE, ROWS, ShownStatement, Statement, shown
from headgate.doors.problems import ProblemError
from headgate.doors.services import By, Secret, Uses, on_spark
from headgate.facts.caller import Caller
from headgate.spark.kept import KeptStatement, KeptStatements
from headgate.spark.statements import Reading

router = APIRouter(tags=["sql"], dependencies=[Depends(on_spark)])

GONE = "whoever sent it has gone"
_CUT = "the result is larger than one may be here; ask for less of it"

_OWN = own("only who sent a statement knows of it, by the same token")
_RUN = own("Spark's guard decides on everything that the statement touches")
_RUN["responses"] = _RUN["responses"] | {
    200: {"content": {ARROW: {}}, "description": "Its rows; as an Arrow stream for who accepts one."},
    202: {"model": ShownStatement, "description": "It is under way; `Location` says where to ask for it."},
}


@router.post("/sql", response_model=ShownStatement, **_RUN)
async def run_sql(body: Statement, request: Request, services: Uses, token: Secret, caller: By) -> Response:
    """Run it; a refusal is a problem with SQLSTATE 42501, why, what is missing, and where to ask for it."""
    statements = services.statements
    if ARROW in request.headers.get("accept", ""):
        if body.wait_seconds is not None:
            raise ProblemError(422, "invalid", "an Arrow stream begins when the rows do; leave out `wait_seconds`")
        return await _streamed(statements, body, request, token, caller)
    kept = statements.start(token, caller.principal, body.wanted(statements.limits, kept=True))
    try:
        ended = await _ended(kept, request, body.wait_seconds)
        answer = await _page(kept, caller, 0, PAGE)
    except BaseException:
        statements.drop(kept, GONE)
        raise
    if not ended:
        location = str(request.url_for("show_statement", statement=kept.id).path)
        return _json(answer, 202, {"location": location})
    if answer.next is None:
        statements.drop(kept)
        answer.id = None
    if kept.error is not None:
        raise kept.error
    return _json(answer)


@router.get("/sql/{statement}", response_model=ShownStatement, **_OWN)
async def show_statement(
    statement: Called,
    request: Request,
    services: Uses,
    token: Secret,
    caller: By,
    start: Annotated[int, Query(ge=0, description="the first row that is wanted")] = 0,
    rows: Annotated[int, Query(ge=1, le=PAGE, description="how many rows are wanted at most")] = ROWS,
    wait_seconds: Annotated[float, Query(ge=0, le=3600, description="how long to wait for its end")] = 0.0,
) -> Response:
    """Show where a statement is, and rows of its result once there is one."""
    kept = _found(services.statements, token, statement)
    await _ended(kept, request, wait_seconds)
    return _json(await _page(kept, caller, start, rows))


@router.delete("/sql/{statement}", status_code=204, **_OWN)
def end_statement(statement: Called, services: Uses, token: Secret, _: By) -> None:
    """End a statement if it still runs, and keep nothing of it."""
    services.statements.drop(_found(services.statements, token, statement))


async def _page(kept: KeptStatement, caller: Caller, start: int, rows: int) -> ShownStatement:
    """Return a statement with some of its rows. Raises `StatementError` unless the caller may read them now."""
    try:
        return await anyio.to_thread.run_sync(shown, kept, start, rows)
    finally:
        # Last, so that it counts for rows that have just come, and for an error that quotes a value of them.
        await anyio.to_thread.run_sync(kept.decide_again, caller)


def _json(answer: ShownStatement, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # As the model writes it: the framework's own way knows no words for numbers that are none.
    return Response(answer.model_dump_json(), status, headers, "application/json")


def _found(statements: KeptStatements, token: str, id: str) -> KeptStatement:
    found = statements.find(token, id)
    if found is None:
        raise MissingError(f"there is no statement `{id}` of yours; rows are kept for a while only")
    return found


async def _ended(kept: KeptStatement, request: Request, seconds: float | None) -> bool:
    """Wait until it has ended, so many seconds at most; say whether it has. Raises `ProblemError` if nobody listens."""
    kept.waiting += 1
    gone = asyncio.create_task(_gone(request))
    ended = asyncio.wrap_future(kept.ended)
    try:
        await asyncio.wait({gone, ended}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        kept.waiting -= 1
        gone.cancel()
    if gone.done() and not gone.cancelled() and not ended.done():
        raise ProblemError(499, "gone", GONE)
    return ended.done()


async def _gone(request: Request) -> None:
    """Return when whoever sent the request has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(
    statements: KeptStatements, body: Statement, request: Request, token: str, caller: Caller
) -> Response:
    """Return the rows as Spark makes them: no more of them is here than is on its way."""
    reading = statements.begin(token, body.wanted(statements.limits, kept=False))
    loop, workers = asyncio.get_running_loop(), statements.workers
    watch = asyncio.create_task(_cancel_when_gone(request, reading))
    try:
        _, schema = await loop.run_in_executor(workers, reading.open)
    except BaseException:
        watch.cancel()
        reading.cancel(GONE)
        await loop.run_in_executor(workers, reading.close)
        raise
    wanted_less = body.limit is not None or body.bytes is not None

    async def rows() -> AsyncIterator[bytes]:
        stream, batches = Stream(schema), reading.batches()
        try:
            while (batch := await loop.run_in_executor(workers, next, batches, None)) is not None:
                # The rows of a script come from Spark in an operation that needs nothing: the gateway would not end it.
                reading.decide_again(caller)
                yield stream.batch(batch)
            if reading.more and not wanted_less:
                # What is cut off must not look like all there is: the stream ends without its end.
                raise ProblemError(413, "too-large", _CUT)
            yield stream.end()
        finally:
            watch.cancel()
            reading.cancel(GONE)
            await asyncio.shield(loop.run_in_executor(workers, reading.close))

    return StreamingResponse(rows(), media_type=ARROW)


async def _cancel_when_gone(request: Request, reading: Reading) -> None:
    await _gone(request)
    reading.cancel(GONE)
