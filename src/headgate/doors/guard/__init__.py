"""The guard's door: one question per statement, from the driver and nobody else."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from headgate.control.touched import Touched
from headgate.doors.problems import ProblemError
from headgate.spark.needs import NameNeed, Names, Need
from headgate.spark.sparks import Sparks, Spoken
from headgate.spark.works import TooMuchWorkError


class Needs(BaseModel):
    """Everything that one statement needs, and in which operation, if it has a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    needs: tuple[Need, ...]
    statement: str = ""
    operation: Annotated[str, Field(min_length=1, max_length=200)] | None = None


def guard_router(sparks: Sparks) -> APIRouter:
    """Return the route that the guard asks, of whichever organization's Spark."""
    router, touched = APIRouter(prefix="/guard/v1", include_in_schema=False), Touched()

    @router.post("/decide")
    async def decide(request: Request) -> dict[str, Any]:
        body = await request.body()
        spoken = sparks.spoken("POST", request.url.path, request.headers, body)
        if spoken is None:
            raise ProblemError(401, "unauthenticated", "this session is not known here, or has ended")
        try:
            asked = Needs.model_validate_json(body)
        except ValidationError:
            raise ProblemError(422, "invalid", "the guard's question is not of the form that is understood") from None
        judge = spoken.spark.judge
        refusal = judge.refusal(spoken.caller, asked.needs) or _unrecorded(spoken, asked)
        if refusal is None and spoken.caller.run is not None:
            # Written before the answer: what reads it once the statement has run must find it.
            await run_in_threadpool(touched.note, spoken.spark.organization, spoken.caller.run, _named(asked))
        answer = {"allowed": refusal is None, "revision": judge.revision, "principal": judge.name(spoken.caller)}
        return answer if refusal is None else {**answer, "message": refusal}

    return router


def _named(asked: Needs) -> Iterator[tuple[str, Names]]:
    return ((need.action, need.object) for need in asked.needs if isinstance(need, NameNeed))


def _unrecorded(spoken: Spoken, asked: Needs) -> str | None:
    """Keep in mind what an operation was allowed; return why that cannot be."""
    if asked.operation is None:
        return None
    try:
        spoken.spark.works.record(spoken.handle, asked.operation, asked.needs)
    except TooMuchWorkError as error:
        return str(error)
    return None
