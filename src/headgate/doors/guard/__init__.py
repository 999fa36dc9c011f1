"""The guard's door: one question per statement, from the driver and nobody else."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headgate.control.control import Control
from headgate.control.gate import Gate
from headgate.control.wording import Wording
from headgate.doors.problems import ProblemError
from headgate.facts.caller import Caller
from headgate.spark.driver_calls import DriverCalls

Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathNeed(_Strict):
    """A file that is read through a connection."""

    action: Literal["path.read"]
    path: str


class NameNeed(_Strict):
    """An action on a full name; `discover` asks only whether the caller may know it."""

    action: str
    object: Names


class Needs(_Strict):
    """Everything that one statement needs."""

    needs: tuple[PathNeed | NameNeed, ...]
    statement: str = ""


def guard_router(
    control: Control, gate: Gate, wording: Wording, calls: DriverCalls, may_read: Callable[[Caller, str], bool]
) -> APIRouter:
    """Return the route that the guard asks."""
    router = APIRouter(prefix="/guard/v1", include_in_schema=False)

    @router.post("/decide")
    async def decide(request: Request) -> dict[str, Any]:
        body = await request.body()
        caller = calls.caller("POST", request.url.path, request.headers, body)
        if caller is None:
            raise ProblemError(401, "unauthenticated", "this session is not known here, or has ended")
        try:
            asked = Needs.model_validate_json(body)
        except ValidationError:
            raise ProblemError(422, "invalid", "the guard's question is not of the form that is understood") from None
        refusal = next((text for need in asked.needs if (text := _refusal(caller, need))), None)
        revision = control.snapshot.revision
        if refusal is None:
            return {"allowed": True, "revision": revision}
        return {"allowed": False, "revision": revision, "message": f"{wording.caller(caller)}: {refusal}"}

    def _refusal(caller: Caller, need: PathNeed | NameNeed) -> str | None:
        if isinstance(need, PathNeed):
            return None if may_read(caller, need.path) else _NO_PATH
        if need.action == "discover":
            verdict = gate.discover(caller, need.object)
        else:
            verdict = gate.check(caller, need.action, need.object)
        return None if verdict.allowed else verdict.message

    return router


_NO_PATH = "files are read through a connection that a running pipeline declares, and in no other way"
