"""RFC 9457 problems: the one table from errors to answers of the HTTP API."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from headgate.control.command import (
    CommandError,
    InvalidError,
    MissingError,
    NotEmptyError,
    RefusedError,
    TakenError,
    UnknownCallerError,
)
from headgate.control.control import Control
from headgate.control.ports import StoreError
from headgate.control.wording import Wording
from headgate.spark.statements import REFUSED, StatementError

log = logging.getLogger(__name__)

_STATUS: dict[type[CommandError], tuple[int, str]] = {
    UnknownCallerError: (401, "unauthenticated"),
    MissingError: (404, "not-found"),
    TakenError: (409, "taken"),
    NotEmptyError: (409, "not-empty"),
    InvalidError: (422, "invalid"),
}


class ProblemError(Exception):
    """A door cannot do what it was asked; becomes a problem document."""

    def __init__(self, status: int, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.more = more


def problem(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return a problem document."""
    body = {"type": f"urn:headgate:problem:{code}", "title": code.replace("-", " "), "status": status, "detail": detail}
    return JSONResponse({**body, **more}, status, media_type="application/problem+json")


def install(app: FastAPI, control: Control, wording: Wording) -> None:
    """Make every error of the core and of the framework a problem document."""

    @app.exception_handler(ProblemError)
    def on_problem(_: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.code, str(error), **error.more)

    @app.exception_handler(CommandError)
    def on_command(_: Request, error: CommandError) -> JSONResponse:
        if isinstance(error, RefusedError):
            return refused(control, wording, error)
        status, code = _STATUS[type(error)]
        return problem(status, code, str(error))

    @app.exception_handler(StatementError)
    def on_statement(_: Request, error: StatementError) -> JSONResponse:
        if error.condition == "UNAVAILABLE":
            return problem(503, "unavailable", str(error))
        refusal = error.sqlstate == REFUSED or error.condition in ("PERMISSION_DENIED", "UNAUTHENTICATED")
        status, code = (403, "refused") if refusal else (400, "statement-failed")
        return problem(status, code, str(error), sqlstate=error.sqlstate)

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> JSONResponse:
        detail = str(error.detail)
        if error.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
            detail = f"`{request.method} {request.url.path}` is not served; `/api/openapi.json` lists what is"
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return problem(error.status_code, code, detail)

    @app.exception_handler(StoreError)
    def on_store(_: Request, error: StoreError) -> JSONResponse:
        # Its own words name a path of this machine, which is for the operator.
        log.error("the store cannot be used", exc_info=error)
        return problem(503, "unavailable", "the store cannot be used; the server's log says why")

    @app.exception_handler(RequestValidationError)
    def on_validation(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = [{"at": ".".join(map(str, each["loc"])), "fault": each["msg"]} for each in error.errors()]
        return problem(422, "invalid", "the request is not of the form that this route takes", faults=faults)


def refused(control: Control, wording: Wording, error: RefusedError) -> JSONResponse:
    """Return a refusal: with its reason to who may know the resource, as a missing name to anybody else."""
    facts, question = control.snapshot, error.question
    resource = facts.resources.get(question.resource)
    if resource is None:
        return problem(404, "not-found", wording.hidden((question.resource,)))
    names = facts.full_name(resource.id)
    if resource.type in ("organization", "project"):
        # Everybody in the organization knows that there is one, and its default project.
        text = wording.refusal(facts, question.action, names, error.explanation, known=True)
        return problem(403, "refused", text)
    if not error.explanation.discoverable:
        return problem(404, "not-found", wording.hidden(names))
    return problem(403, "refused", wording.refusal(facts, question.action, names, error.explanation))
