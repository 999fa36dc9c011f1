"""The endpoint of the guard: one question per statement, only from a driver.

It records refusals in the audit, for SQL over HTTP, Spark Connect and runs alike: one record for each refused need. The
response contains the message of the first refusal.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from headgate.control.connections.commands import JdbcAccessError
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.pipelines.run_access_log import RunAccessLog
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import REQUEST
from headgate.spark.sessions.privileges import (
    MOST_REFUSALS,
    ObjectNames,
    Refusal,
    RequiredConnection,
    RequiredName,
    RequiredOperation,
    RequiredPrivilege,
)
from headgate.spark.sessions.registry import DriverRequest, SparkRegistry
from headgate.spark.sessions.running_operations import TooManyOperationsError

_PREFIX = "/guard/v1"
DECIDE = f"{_PREFIX}/decide"
"""The path of the question about a statement."""
GUARD_ENDPOINT = "spark"
"""The name of Spark's endpoints in the audit."""
Asked = TypeVar("Asked", bound=BaseModel)


class Needs(BaseModel):
    """The needs of one statement, and the id of its operation, if it has one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    needs: tuple[RequiredPrivilege | RequiredOperation, ...]
    statement: str = ""
    is_filter: bool = False
    """Whether a refusal only omits an entry from the statement's output, and does not refuse the statement."""
    operation: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Connect(BaseModel):
    """The connection to whose database the driver is about to connect, by the name that the session's pipeline declares."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connection: str


class Source(BaseModel):
    """A column of a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: ObjectNames
    column: Annotated[str, Field(max_length=1000)]


class Written(BaseModel):
    """Column lineage of a write: for each column of the written table, the columns that it is computed from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: ObjectNames
    columns: Annotated[dict[str, Annotated[tuple[Source, ...], Field(max_length=20)]], Field(max_length=500)]


def guard_router(sparks: SparkRegistry, audit: AuditRecorder) -> APIRouter:
    """Return the routes for the guards of all organizations' drivers."""
    router, touched = IndexedRouter(include_in_schema=False), RunAccessLog()

    @router.post(DECIDE)
    async def decide(request: Request) -> dict[str, Any]:
        spoken, asked = await _question(request, sparks, Needs)
        judge = spoken.spark.judge
        needs = judge.expand(asked.needs)
        refusals = judge.refusals(spoken.caller, needs, most=1 if asked.is_filter else MOST_REFUSALS)
        if needs and not asked.is_filter:
            _record_denials(audit, request, spoken, refusals)
        refusal = refusals[0].message if refusals else record_operation(sparks, spoken, asked.operation, needs)
        if refusal is None and spoken.caller.run is not None:
            # Recorded before the response: a reader after the statement's end must find the record.
            await run_in_threadpool(touched.record, spoken.spark.organization, spoken.caller.run, _list_named(needs))
        answer = build_answer(spoken, allowed=refusal is None)
        return answer if refusal is None else {**answer, "message": refusal}

    @router.post(f"{_PREFIX}/connect")
    async def connect(request: Request) -> dict[str, Any]:
        spoken, asked = await _question(request, sparks, Connect)
        need = RequiredConnection(action="connection.use", connection=asked.connection)
        refusals = spoken.spark.judge.refusals(spoken.caller, [need])
        if refusals:
            _record_denials(audit, request, spoken, refusals)
            return {"allowed": False, "message": refusals[0].message}
        try:
            found = await run_in_threadpool(spoken.spark.jdbc_access, spoken.caller, asked.connection)
        except JdbcAccessError as error:
            return {"allowed": False, "message": f"{spoken.spark.judge.name(spoken.caller)}: {error}"}
        return {"allowed": True, "url": found.url, "properties": dict(found.properties)}

    @router.post(f"{_PREFIX}/columns")
    async def columns(request: Request) -> dict[str, Any]:
        spoken, said = await _question(request, sparks, Written)
        if spoken.caller.run is not None:
            came = {name: [(".".join(each.table), each.column) for each in of] for name, of in said.columns.items()}
            store, run = spoken.spark.organization.store, spoken.caller.run
            await run_in_threadpool(touched.record_columns, store, run, ".".join(said.table), came)
        return {}

    return router


async def _question(request: Request, sparks: SparkRegistry, kind: type[Asked]) -> tuple[DriverRequest, Asked]:
    """Return a driver's request, with its session. Raises `ProblemError` 401 if no known driver sent it, 422 if malformed."""
    body = await request.body()
    spoken = sparks.authenticate_driver_request("POST", request.url.path, request.headers, body)
    if spoken is None:
        raise ProblemError(
            401,
            "unauthenticated",
            (
                "the Spark driver that sent the request is unknown to the server or was "
                "stopped; create a new Spark session"
            ),
        )
    try:
        return spoken, kind.model_validate_json(body)
    except ValidationError:
        raise ProblemError(
            422, "invalid", "internal error: the Spark driver sent a malformed request to the server; report it"
        ) from None


def _record_denials(audit: AuditRecorder, request: Request, spoken: DriverRequest, refusals: Iterable[Refusal]) -> None:
    id = str(request.scope.get(REQUEST, ""))
    for each in refusals:
        audit.record_denial(spoken.spark.organization, spoken.caller, each.denial, GUARD_ENDPOINT, id)


def _list_named(needs: Iterable[RequiredPrivilege]) -> Iterator[tuple[str, ObjectNames]]:
    return ((need.action, need.object) for need in needs if isinstance(need, RequiredName))


def build_answer(spoken: DriverRequest, *, allowed: bool) -> dict[str, Any]:
    """Return the answer to a question of the guard, without the message of a refusal."""
    judge, caller = spoken.spark.judge, spoken.caller
    # `traced` makes the guard report the column lineage of the statement's writes, for runs only.
    return {
        "allowed": allowed,
        "revision": judge.revision,
        "principal": judge.name(caller),
        "traced": caller.run is not None,
    }


def record_operation(
    sparks: SparkRegistry, spoken: DriverRequest, operation: str | None, needs: Sequence[RequiredPrivilege]
) -> str | None:
    """Record the needs that an operation was allowed; return the refusal if too many operations run, else None."""
    if operation is None:
        return None
    try:
        spoken.spark.works.record(spoken.handle, operation, needs)
    except TooManyOperationsError as error:
        return str(error)
    sparks.result_privileges.record(operation, spoken.spark.judge, needs)
    return None
