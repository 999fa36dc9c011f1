"""Login with a password, and the caller's own sessions and password."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, Field

from headgate.control.authentication.sessions import NewSession, Session
from headgate.control.kernel.errors import NotFoundError
from headgate.endpoints.auth.dependencies import Client, CurrentAuth, CurrentSession
from headgate.endpoints.common.cookies import in_cookie, put, remember, require_presented_secret
from headgate.endpoints.common.csrf import csrf_token, require_own_origin
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.route_metadata import caller_only, public
from headgate.endpoints.common.schemas import StrictSchema

router = IndexedRouter(prefix="/api/v1", tags=["logins"])

LoginName = Annotated[Text, Field(min_length=1, max_length=200)]
PasswordText = Annotated[Text, Field(max_length=2000)]


class LoginCreate(StrictSchema):
    """A login name and its password. With `cookie` the session is set as the browser's cookie and not in the response."""

    login: LoginName
    password: PasswordText
    cookie: bool = False


class LoginResult(BaseModel):
    """A login that is valid until `ends` (seconds since the epoch).

    `session` is the secret to send as `Authorization: Bearer`; `csrf` is the token that a page sends beside the cookie instead.
    """

    id: str
    principal: str
    ends: float
    session: str | None = None
    csrf: str | None = None


class SessionSummary(BaseModel):
    """A session of the caller; times in seconds since the epoch. `how` is the login method: `password`, `oidc`, `device` ..."""

    id: str
    at: float
    ends: float
    how: str
    address: str
    agent: str
    current: bool


class PasswordPatch(StrictSchema):
    """The old and the new password of the caller."""

    old: PasswordText
    new: PasswordText


@router.post("/login", status_code=201, **public("a user who logs in is not identified yet"))
def log_in(body: LoginCreate, request: Request, response: Response, ways: CurrentAuth, told: Client) -> LoginResult:
    """Log in with a password."""
    require_own_origin(request)
    started = ways.authentication.log_in(body.login, body.password, told)
    return build_login_result(request, response, started, cookie=body.cookie)


@router.post("/logout", status_code=204, **caller_only("the request ends the session that it is sent with"))
def log_out(request: Request, response: Response, ways: CurrentAuth, session: CurrentSession) -> None:
    """End the session that the request is sent with."""
    ways.authentication.sessions.end(session.principal, session.id)
    if in_cookie(request) is not None:
        put(request, response, "headgate", "", 0)


@router.get("/session", **caller_only("the response is about the session that the request is sent with"))
def get_session(request: Request, session: CurrentSession) -> LoginResult:
    """Get the session that the request is sent with, and the CSRF token that a page sends beside its cookie."""
    return LoginResult(
        id=session.id,
        principal=session.principal,
        ends=session.ends,
        csrf=csrf_token(require_presented_secret(request)),
    )


@router.get("/sessions", **caller_only("the sessions are the caller's own"))
def list_sessions(ways: CurrentAuth, session: CurrentSession) -> list[SessionSummary]:
    """List the sessions of the caller, newest first."""
    return [_format_session(each, session) for each in ways.authentication.sessions.of(session.principal)]


@router.delete("/sessions/{id}", status_code=204, **caller_only("the session is the caller's own"))
def delete_session(id: str, ways: CurrentAuth, session: CurrentSession) -> None:
    """End a session of the caller, on any device."""
    if id not in {each.id for each in ways.authentication.sessions.of(session.principal)}:
        raise NotFoundError(
            f"you have no session `{id}`; `headgate session list` or `GET /api/v1/sessions` lists your sessions"
        )
    ways.authentication.sessions.end(session.principal, id)


@router.post("/password", status_code=204, **caller_only("the password is the caller's own"))
def change_password(body: PasswordPatch, ways: CurrentAuth, session: CurrentSession, told: Client) -> None:
    """Change the caller's password, and end the caller's other sessions."""
    ways.authentication.change_password(session, body.old, body.new, told["address"])


def build_login_result(request: Request, response: Response, started: NewSession, *, cookie: bool) -> LoginResult:
    """Return the response to a login; with `cookie`, set the session as the browser's cookie."""
    session = started.session
    answer = LoginResult(id=session.id, principal=session.principal, ends=session.ends)
    response.headers["cache-control"] = "no-store"
    if not cookie:
        return answer.model_copy(update={"session": started.secret})
    remember(request, response, started)
    return answer.model_copy(update={"csrf": csrf_token(started.secret)})


def _format_session(each: Session, current: Session) -> SessionSummary:
    return SessionSummary(
        id=each.id,
        at=each.at,
        ends=each.ends,
        how=each.how,
        address=each.told.get("address", ""),
        agent=each.told.get("agent", ""),
        current=each.id == current.id,
    )
