"""Idempotency keys: a request is carried out once, and every repeat under its `Idempotency-Key` gets the first response."""

import hashlib
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from headgate.control.identity.narrowed_callers import replay_scope
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, RunConflictError, Store
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.versions import set_version
from headgate.facts.caller import Caller

_KIND = "answer"
_LOST = (CommandError, DocumentConflictError, RunConflictError, ProblemError)
"""Errors that a request may get because a concurrent repeat was carried out first."""


class ReplayedError(Exception):
    """The request was carried out before. Becomes the response that it got then."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A request that is carried out once, even if it is sent repeatedly. `store` keeps its response.

    `id` is the hash of the caller and the key, `request` is the hash of method, path, query and body.
    """

    store: Store
    id: str
    request: str

    def require_new(self) -> None:
        """Raise `ReplayedError` if the request was carried out, and `ProblemError` if another request used its key."""
        kept = self.store.document(_KIND, self.id)
        if kept is None:
            return
        if kept["request"] != self.request:
            raise ProblemError(
                422, "key-reused", "the `Idempotency-Key` was already used for a different request; use a new key"
            )
        raise ReplayedError(kept["answer"])

    def kept(self, answer: Mapping[str, Any]) -> DocumentPut:
        """Return the document that keeps the response for repeats."""
        return DocumentPut(_KIND, self.id, {"request": self.request, "answer": dict(answer)}, new=True)


async def idempotency_key_of(request: Request, organization: Organization, caller: Caller, key: str) -> IdempotencyKey:
    """Return the idempotency key of a caller's request."""
    body = await request.body()
    said = (request.method, str(request.url.path), str(request.url.query), body.decode("utf-8", "replace"))
    scope = replay_scope(organization.control.snapshot, caller)
    return IdempotencyKey(organization.store, compute_digest((scope, key)), compute_digest(said))


@asynccontextmanager
async def replay_or_run(once: IdempotencyKey | None) -> AsyncGenerator[None]:
    """Raise `ReplayedError` with the response of an earlier request; else run the block.

    Check again if the block fails, because a concurrent repeat may have caused the failure.
    """
    if once is None:
        yield
        return
    await run_in_threadpool(once.require_new)
    try:
        yield
    except _LOST:
        await run_in_threadpool(once.require_new)
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


def compute_digest(parts: Iterable[str]) -> str:
    """Return the SHA-256 of the parts."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
