"""Idempotency keys of the HTTP API: a repeated request gets the stored response, with `Idempotency-Replayed`."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from headgate.control.identity.narrowed_callers import replay_scope
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.ports import DocumentConflictError, RunConflictError, Store
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.versions import set_version
from headgate.facts.caller import Caller

_LOST = (CommandError, DocumentConflictError, RunConflictError, ProblemError)
"""Errors that a request may get because a concurrent repeat was carried out first."""


class ReplayedError(Exception):
    """The request was carried out before. Becomes the response that it got then."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__()
        self.answer = answer


async def require_new(store: Store, once: IdempotencyKey) -> None:
    """Raise `ReplayedError` if the request was carried out, and `ReusedKeyError` if another request used its key."""
    answer = await run_in_threadpool(once.stored_answer, store)
    if answer is not None:
        raise ReplayedError(answer)


async def idempotency_key_of(request: Request, organization: Organization, caller: Caller, key: str) -> IdempotencyKey:
    """Return the idempotency key of a caller's request."""
    body = await request.body()
    said = (request.method, str(request.url.path), str(request.url.query), body.decode("utf-8", "replace"))
    scope = replay_scope(organization.control.snapshot, caller)
    return IdempotencyKey.digest((scope, key), said)


@asynccontextmanager
async def replay_or_run(store: Store, once: IdempotencyKey | None) -> AsyncGenerator[None]:
    """Raise `ReplayedError` with the response of an earlier request; else run the block.

    Check again if the block fails, because a concurrent repeat may have caused the failure.
    """
    if once is None:
        yield
        return
    await require_new(store, once)
    try:
        yield
    except _LOST:
        await require_new(store, once)
        raise


def install_idempotency(app: FastAPI) -> None:
    """Install the handler that answers a repeated request as the first one, with the header `Idempotency-Replayed`."""

    @app.exception_handler(ReplayedError)
    def on_replayed(request: Request, error: ReplayedError) -> JSONResponse:
        route: APIRoute = request.scope["route"]
        shown = route.response_model.model_validate(error.answer)
        body = shown.model_dump(mode="json", exclude_none=route.response_model_exclude_none)
        answer = JSONResponse(body, route.status_code or 200, {"idempotency-replayed": "true"})
        if "version" in error.answer:
            set_version(answer, error.answer["version"])
        return answer
