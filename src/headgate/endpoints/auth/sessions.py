"""Logging in by a password, and one's own sessions."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from headgate.control.authentication.sessions import Session, Started
from headgate.control.kernel.errors import MissingError
from headgate.endpoints.auth.dependencies import Enters, Own, Told
from headgate.endpoints.common.cookies import csrf, in_cookie, presented, put, remember, require_own_origin
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.route_metadata import own, public
from headgate.endpoints.common.schemas import Strict

router = APIRouter(prefix="/api/v1", tags=["logins"])

Name = Annotated[Text, Field(min_length=1, max_length=200)]
Secret = Annotated[Text, Field(max_length=2000)]


class Login(Strict):
    """A login name and its password. With `cookie` the session is put into the browser's cookie, and not into the answer."""

    login: Name
    password: Secret
    cookie: bool = False


class LoggedIn(BaseModel):
    """Somebody is logged in until `ends` (seconds since the epoch).

    `session` is the secret to send as `Authorization: Bearer`; `csrf` is what a page sends beside the cookie instead.
    """

    id: str
    principal: str
    ends: float
    session: str | None = None
    csrf: str | None = None


class SessionShown(BaseModel):
    """A session of one's own; times in seconds since the epoch. `how` is by what: `password`, `oidc`, `device` ..."""

    id: str
    at: float
    ends: float
    how: str
    address: str
    agent: str
    current: bool


class NewPassword(Strict):
    """Another password for oneself."""

    old: Secret
    new: Secret


@router.post("/login", status_code=201, **public("whoever logs in is nobody yet"))
def log_in(body: Login, request: Request, response: Response, ways: Enters, told: Told) -> LoggedIn:
    """Log in by a password."""
    require_own_origin(request)
    started = ways.logins.log_in(body.login, body.password, told)
    return entered(request, response, started, cookie=body.cookie)


@router.post("/logout", status_code=204, **own("it ends the session that it is sent with"))
def log_out(request: Request, response: Response, ways: Enters, session: Own) -> None:
    """End this session."""
    ways.logins.sessions.end(session.principal, session.id)
    if in_cookie(request) is not None:
        put(request, response, "headgate", "", 0)


@router.get("/session", **own("it tells about the session that it is sent with"))
def this_session(request: Request, session: Own) -> LoggedIn:
    """Whose session this is, and what a page sends beside its cookie."""
    return LoggedIn(id=session.id, principal=session.principal, ends=session.ends, csrf=csrf(presented(request)))


@router.get("/sessions", **own("they are the caller's own"))
def list_sessions(ways: Enters, session: Own) -> list[SessionShown]:
    """One's own sessions, newest first."""
    return [_shown(each, session) for each in ways.logins.sessions.of(session.principal)]


@router.delete("/sessions/{id}", status_code=204, **own("it is the caller's own"))
def end_session(id: str, ways: Enters, session: Own) -> None:
    """End one of one's own sessions, wherever it is."""
    if id not in {each.id for each in ways.logins.sessions.of(session.principal)}:
        raise MissingError(f"there is no session `{id}` of yours")
    ways.logins.sessions.end(session.principal, id)


@router.post("/password", status_code=204, **own("it is the caller's own"))
def change_password(body: NewPassword, ways: Enters, session: Own, told: Told) -> None:
    """Change one's password, and end one's other sessions."""
    ways.logins.change_password(session, body.old, body.new, told["address"])


def entered(request: Request, response: Response, started: Started, *, cookie: bool) -> LoggedIn:
    """Return the answer to who has logged in."""
    session = started.session
    answer = LoggedIn(id=session.id, principal=session.principal, ends=session.ends)
    response.headers["cache-control"] = "no-store"
    if not cookie:
        return answer.model_copy(update={"session": started.secret})
    remember(request, response, started)
    return answer.model_copy(update={"csrf": csrf(started.secret)})


def _shown(each: Session, current: Session) -> SessionShown:
    return SessionShown(
        id=each.id,
        at=each.at,
        ends=each.ends,
        how=each.how,
        address=each.told.get("address", ""),
        agent=each.told.get("agent", ""),
        current=each.id == current.id,
    )
