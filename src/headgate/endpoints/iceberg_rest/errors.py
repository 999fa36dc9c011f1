"""Errors in the format of the Iceberg REST specification, and the table that maps the errors of the lake to them."""

import logging
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from typing_extensions import override

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.idempotency import ReusedKeyError
from headgate.control.kernel.ports import StoreError
from headgate.control.questions.hidden_names import Verdict
from headgate.control.text.quoted_text import shorten_quotes
from headgate.endpoints.common.problems import NO_STORE, RETRY_AFTER, ProblemError
from headgate.lake import errors as lake

log = logging.getLogger(__name__)


class SpecError(Exception):
    """An error response: HTTP status, error type of the specification, and a message.

    `denial` is the audit's record if the error denies something to the caller.
    """

    def __init__(self, code: int, type: str, message: str, denial: Denial | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.type = type
        self.denial = denial


class UnderWayError(SpecError):
    """The same request, with the same idempotency key, is being executed now."""

    def __init__(self) -> None:
        super().__init__(
            503,
            "ServiceUnavailableException",
            "the same request is still being executed; retry it with the same `Idempotency-Key` to get its response",
        )


_TABLE: Mapping[type[Exception], tuple[int, str]] = {
    lake.RuleError: (403, "ForbiddenException"),
    lake.InvalidMetadataError: (400, "BadRequestException"),
    lake.GoneError: (404, "NotFoundException"),
    lake.ConflictError: (409, "CommitFailedException"),
    lake.MissingMetadataError: (404, "NoSuchTableException"),
    ReusedKeyError: (400, "BadRequestException"),
    lake.BusyError: (503, "ServiceUnavailableException"),
}

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {"message": {"type": "string"}, "type": {"type": "string"}, "code": {"type": "integer"}},
        }
    },
}
_SPECIFIED = {"application/json": {"schema": _ERROR}}
_BEFORE = {"application/problem+json": {}}
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The request is invalid.", "content": {**_SPECIFIED, **_BEFORE}},
    401: {"description": "The token is missing, unknown or expired.", "content": _SPECIFIED},
    403: {"description": "The caller may not do this.", "content": _SPECIFIED},
    404: {"description": "The resource does not exist, or the caller may not see it.", "content": _SPECIFIED},
    409: {"description": "The request conflicts with the current state.", "content": _SPECIFIED},
    413: {"description": "The body is too large.", "content": _BEFORE},
    422: {"description": "An argument is invalid.", "content": _BEFORE},
    429: {"description": "Too many requests.", "content": _BEFORE},
    503: {
        "description": "The store is unavailable, or too many files wait to be read; retry the request.",
        "content": {**_SPECIFIED, **_BEFORE},
    },
}
"""The error responses of every route: in the specification's format, or a problem document from a middleware before it."""


def no_such_namespace(shown: str) -> SpecError:
    """Return the error for a database that is hidden or missing."""
    return SpecError(
        404,
        "NoSuchNamespaceException",
        (
            f"there is no namespace `{shown}` that you may see; check the name, "
            "or ask an owner or admin for access to it"
        ),
    )


def no_such_table(shown: str) -> SpecError:
    """Return the error for a table that is hidden or missing."""
    return SpecError(
        404,
        "NoSuchTableException",
        f"there is no table `{shown}` that you may see; check the name, or ask an owner or admin for access to it",
    )


def no_such_view(shown: str) -> SpecError:
    """Return the error for a view that is hidden or missing."""
    return SpecError(
        404,
        "NoSuchViewException",
        f"there is no view `{shown}` that you may see; check the name, or ask an owner or admin for access to it",
    )


def nothing_here() -> SpecError:
    """Return the error for an address that is not served."""
    return SpecError(404, "NotFoundException", "the catalog has no such endpoint; `GET /v1/config` lists the endpoints")


def bad_request(message: str) -> SpecError:
    """Return the error for an invalid request."""
    return SpecError(400, "BadRequestException", message)


def refusal_error(verdict: Verdict, missing: SpecError) -> SpecError:
    """Return the error for a denied caller: the reason, or `missing` if the caller may not see the name."""
    if verdict.discoverable:
        return SpecError(403, "ForbiddenException", verdict.message, verdict.denial)
    return hidden_error(verdict, missing)


def hidden_error(verdict: Verdict, missing: SpecError) -> SpecError:
    """Return the error for a hidden or missing name. It is a denial unless the caller could see a resource of that name."""
    return SpecError(missing.code, missing.type, str(missing), None if verdict.discoverable else verdict.denial)


class SpecRoute(APIRoute):
    """A route that returns every error in the specification's format and records every denial in the audit."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's own handler."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except Exception as error:  # noqa: BLE001 - the client must get every error in the specification's format
                if isinstance(error, SpecError) and error.denial is not None:
                    await run_in_threadpool(request.state.record_denial, error.denial)
                return _answer(error)

        return handler


def _answer(error: Exception) -> JSONResponse:
    if isinstance(error, SpecError):
        code, kind, message = error.code, error.type, str(error)
    elif isinstance(error, ProblemError):
        code, kind, message = error.status, "NotFoundException", str(error)
    elif isinstance(error, StoreError):
        log.error("the store cannot be used", exc_info=error)
        code, kind, message = 503, "ServiceUnavailableException", NO_STORE
    elif type(error) in _TABLE:
        code, kind = _TABLE[type(error)]
        message = str(error)
    else:
        log.error("the Iceberg REST catalog failed", exc_info=error)
        code, kind = 500, "InternalServerError"
        message = (
            "the request failed because of an internal error; ask the operator of this deployment to look for the reason in "
            "the server's log"
        )
    later = {"retry-after": RETRY_AFTER} if code == HTTPStatus.SERVICE_UNAVAILABLE else None
    return JSONResponse({"error": {"message": shorten_quotes(message), "type": kind, "code": code}}, code, later)
