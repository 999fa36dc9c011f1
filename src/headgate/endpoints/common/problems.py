"""RFC 9457 problem documents: the only mapping from errors to error responses of the HTTP API."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import (
    AlreadyExistsError,
    CallerGoneError,
    CommandError,
    InvalidError,
    NotEmptyError,
    NotFoundError,
    SuspendedError,
)
from headgate.control.kernel.idempotency import ReusedKeyError
from headgate.control.kernel.metadata import ChangedError
from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import display_name, split_request_link
from headgate.control.text.error_text import REFUSED_STATE
from headgate.control.text.quoted_text import shorten_quotes
from headgate.control.text.validation_faults import list_reported_faults
from headgate.decision.types import Question
from headgate.endpoints.common.denials import DENIED, addressed_organization, record_denial
from headgate.endpoints.common.request_scope import ADDRESSED
from headgate.spark.sql.statements import LOST, NO_SPARK, SEVERAL, TOO_MANY, RowsDeniedError, StatementError

log = logging.getLogger(__name__)

_STATUS: dict[type[CommandError], tuple[int, str]] = {
    CallerGoneError: (401, "unauthenticated"),
    SuspendedError: (403, "suspended"),
    NotFoundError: (404, "not-found"),
    AlreadyExistsError: (409, "taken"),
    NotEmptyError: (409, "not-empty"),
    ChangedError: (412, "changed"),
    InvalidError: (422, "invalid"),
    ReusedKeyError: (422, "key-reused"),
    CommandError: (422, "invalid"),
}
"""The status and the code of an error. An error without an entry has those of its nearest base class."""

RETRY_AFTER = "2"
"""The value of `Retry-After`: seconds until the client should retry."""

NO_STORE = "the store is unavailable; retry later, or ask the operator of this deployment to look for the reason in the server's log"
"""The text for a `StoreError`: its own message names a path of the server's machine, which only the operator may see."""


class ProblemError(Exception):
    """An endpoint refuses a request. Becomes a problem document.

    `addressed` is the organization that the request addresses, if the caller is unknown there.
    """

    def __init__(
        self, status: int, code: str, detail: str, *, addressed: Organization | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.addressed = addressed
        self.more = more


def problem_response(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return a response with a problem document."""
    return _answer(_document(status, code, detail, **more))


def inconvertible_value(error: Exception) -> ProblemError:
    """Return the problem of a result with a value that JSON or Python cannot represent, such as a date before the year 1."""
    return ProblemError(
        400,
        "statement-failed",
        f"a value of the result cannot be converted to JSON ({error}); cast the column of that value to STRING",
    )


def statement_problem(error: StatementError) -> dict[str, Any]:
    """Return the problem document of a failed statement.

    For a refusal, the document also has the missing privilege and the link to request it.
    """
    known = _STATEMENT_STATUS.get(error.condition or "")
    refusal = error.sqlstate == REFUSED_STATE or error.condition in ("PERMISSION_DENIED", "UNAUTHENTICATED")
    if not refusal:
        status, code = known or (400, "statement-failed")
        return _document(status, code, str(error), sqlstate=error.sqlstate)
    reason, link = split_request_link(_CONDITION.sub("", str(error)))
    more: dict[str, Any] = {"sqlstate": REFUSED_STATE, "reason": reason}
    if link is not None:
        more |= {"missing": [dict(parse_qsl(urlsplit(link).query))], "ask": link}
    return _document(403, "refused", str(error), **more)


_STATEMENT_STATUS = {
    "UNAVAILABLE": (503, "unavailable"),
    # Not 503: a client that retries automatically must not retry this one, since the statement may have had an effect.
    LOST: (502, "statement-lost"),
    NO_SPARK: (404, "no-spark"),
    TOO_MANY: (429, "too-many"),
    SEVERAL: (422, "several-statements"),
    "CANCELLED": (409, "cancelled"),
}
_LATER = (429, 503)
_CONDITION = re.compile(r"^\[[A-Z_.]+\] | SQLSTATE: \w{5}$")
"""The error class and the SQLSTATE that Spark puts around a message."""


def install_problem_handlers(app: FastAPI) -> None:
    """Install handlers that turn every error of the core and of the framework into a problem document.

    Denials are also recorded in the audit.
    """

    @app.exception_handler(ProblemError)
    def on_problem(request: Request, error: ProblemError) -> JSONResponse:
        answer = problem_response(error.status, error.code, shorten_quotes(str(error)), **error.more)
        request.scope[ADDRESSED] = error.addressed
        return _record_if_denied(request, with_retry_after(answer) if error.status in _LATER else answer, error.code)

    @app.exception_handler(CommandError)
    def on_command(request: Request, error: CommandError) -> JSONResponse:
        if isinstance(error, PermissionDeniedError):
            organization = addressed_organization(request.scope) or request.app.state.deployed.organizations.deployment
            return _record_if_denied(request, build_refusal(organization, error), "refused", error.question)
        status, code = next(_STATUS[each] for each in type(error).__mro__ if each in _STATUS)
        answer = problem_response(status, code, shorten_quotes(str(error)))
        # The response reveals that a hidden name is taken: the audit records it, to show callers that probe for names.
        is_hidden = isinstance(error, AlreadyExistsError) and error.is_hidden
        return _record(request, answer, code) if is_hidden else _record_if_denied(request, answer, code)

    @app.exception_handler(StatementError)
    def on_statement(request: Request, error: StatementError) -> JSONResponse:
        return _of_statement(request, error)

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> JSONResponse:
        detail = str(error.detail)
        if error.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
            detail = f"`{request.method} {request.url.path}` is not a route of the server; `/api/openapi.json` lists its routes"
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return problem_response(error.status_code, code, shorten_quotes(detail))

    @app.exception_handler(StoreError)
    def on_store(_: Request, error: StoreError) -> JSONResponse:
        return unavailable_response(error)

    @app.exception_handler(RequestValidationError)
    def on_validation(_: Request, error: RequestValidationError) -> JSONResponse:
        listed, more = list_reported_faults(error.errors(), error.body)
        found = [{"at": each.at, "fault": each.sentence} for each in listed]
        text = "the request does not match the schema of the route; `faults` lists the invalid fields"
        if more:
            text = f"{text}; {len(found)} faults are listed, and there are up to {more} more"
        return problem_response(422, "invalid", text, faults=found, more_faults=more)


def _of_statement(request: Request, error: StatementError) -> JSONResponse:
    document = statement_problem(error)
    answer = _answer(document)
    if isinstance(error, RowsDeniedError):
        # Any other refusal comes from the guard, whose endpoint has recorded it.
        return _record(request, answer, "refused")
    return with_retry_after(answer) if document["status"] in _LATER else answer


def _document(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    title = code.replace("-", " ")
    return {"type": f"urn:headgate:problem:{code}", "title": title, "status": status, "detail": detail, **more}


def _answer(document: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse(document, document["status"], media_type="application/problem+json")


def unavailable_response(error: StoreError) -> JSONResponse:
    """Return the 503 response for a store that is unavailable, and log the error."""
    log.error("the store is unavailable", exc_info=error)
    return with_retry_after(problem_response(503, "unavailable", NO_STORE))


def with_retry_after(answer: JSONResponse) -> JSONResponse:
    """Return the response with a `Retry-After` header."""
    answer.headers["retry-after"] = RETRY_AFTER
    return answer


def build_refusal(organization: Organization, error: PermissionDeniedError) -> JSONResponse:
    """Return a refusal: 403 with the reason if the caller may discover the resource, else 404 as for a missing name."""
    facts, question, wording = organization.control.snapshot, error.question, organization.wording
    resource = facts.resources.get(question.resource)
    if resource is None:
        return problem_response(404, "not-found", shorten_quotes(wording.hidden((question.resource,))))
    names = (display_name(facts, resource.id),)
    if resource.type in ("deployment", "organization", "project"):
        # Every caller knows that the deployment, the organization and its default project exist.
        text = wording.refusal(facts, question.action, names, error.explanation, known=True)
        return problem_response(403, "refused", text)
    if not error.explanation.discoverable:
        return problem_response(404, "not-found", wording.hidden(names))
    return problem_response(403, "refused", wording.refusal(facts, question.action, names, error.explanation))


def _record_if_denied(
    request: Request, answer: JSONResponse, code: str, question: Question | None = None
) -> JSONResponse:
    return _record(request, answer, code, question) if answer.status_code in DENIED else answer


def _record(request: Request, answer: JSONResponse, code: str, question: Question | None = None) -> JSONResponse:
    denial = Denial(code, question.action, question.resource) if question else Denial(code)
    record_denial(request.scope, "api", denial)
    return answer
