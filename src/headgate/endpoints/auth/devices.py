"""Device flow (RFC 8628), the user's side: approve or deny a device by a route, or on a page without scripts."""

from html import escape
from string import Template
from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.services import AuthServices
from headgate.control.authentication.sessions import Session
from headgate.control.kernel.errors import NotFoundError
from headgate.endpoints.auth.dependencies import Client, CurrentAuth, CurrentSession
from headgate.endpoints.auth.oauth import Form
from headgate.endpoints.common.cookies import in_cookie, remember
from headgate.endpoints.common.csrf import csrf_token, require_csrf_token, require_own_origin
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.route_metadata import caller_only, public
from headgate.endpoints.common.schemas import StrictSchema

router = IndexedRouter(tags=["logins"])

# The page overrides the referrer policy of all responses (`no-referrer`): under that, a browser sends no origin with a form,
# and the form's origin is checked against cross-site request forgery.
_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headgate: approve a device</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin"></head>
<body><main><h1>Approve a device</h1>$body</main></body></html>
""")
_LOGIN = Template("""$said<form method="post" action="/oauth2/device">
<input type="hidden" name="user_code" value="$code">
<p><label>Login name <input name="login" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button></p></form>$provider""")
_PROVIDER = Template('<p><a href="/oidc/login?next=$next">Log in with your company account</a></p>')
_ENTER = Template("""$said<p>You are logged in as $name. A device that you approve acts as you, for any person who uses the device.
Enter the code only if you see it on your own device.</p>
<form method="post" action="/oauth2/device"><input type="hidden" name="csrf" value="$csrf">
<p><label>Code <input name="user_code" value="$code" autocomplete="off" required></label></p>
<p><button name="answer" value="allow">Approve the device</button>
<button name="answer" value="deny">Deny the device</button></p>
</form>""")


class DeviceAnswer(StrictSchema):
    """Whether a device may log in as the caller."""

    allow: bool


@router.post("/api/v1/devices/{code}", status_code=204, **caller_only("an approved device acts as the caller"))
def answer_device(code: str, body: DeviceAnswer, ways: CurrentAuth, session: CurrentSession) -> None:
    """Approve or deny the device that shows this code."""
    ways.devices.answer(code, session, ways.authentication.now, allow=body.allow)


@router.get("/oauth2/device", include_in_schema=False, **public("the page itself asks for a login"))
def show_code_page(
    request: Request, ways: CurrentAuth, user_code: Annotated[Text, Query(max_length=20)] = ""
) -> HTMLResponse:
    """Return the page where a user enters the code of a device."""
    return _page(request, ways, user_code)


@router.post("/oauth2/device", include_in_schema=False, **public("the page itself asks for a login"))
def enter(request: Request, fields: Form, ways: CurrentAuth, told: Client) -> Response:
    """Log in on the page, or approve or deny the device."""
    code, secret = fields.get("user_code", ""), in_cookie(request)
    session = ways.authentication.sessions.find(secret) if secret else None
    if secret is None or session is None:
        return _log_in(request, ways, fields.get("login", ""), fields.get("password", ""), code, told)
    require_csrf_token(request, secret, fields.get("csrf", ""))
    allow = fields.get("answer") == "allow"
    try:
        ways.devices.answer(code, session, ways.authentication.now, allow=allow)
    except (NotFoundError, TooOftenError) as error:
        return _page(request, ways, code, str(error), 422)
    return HTMLResponse(
        _PAGE.substitute(body=f"<p>The device is {'approved' if allow else 'denied'}. Close this page.</p>")
    )


def _log_in(request: Request, ways: AuthServices, login: str, password: str, code: str, told: Client) -> Response:
    require_own_origin(request)
    try:
        started = ways.authentication.log_in(login, password, told)
    except (LoginError, TooOftenError) as error:
        return _page(request, ways, code, str(error), 401)
    response = RedirectResponse(f"/oauth2/device?user_code={quote(code)}", 303)
    remember(request, response, started)
    return response


def _page(request: Request, ways: AuthServices, code: str, said: str = "", status: int = 200) -> HTMLResponse:
    secret = in_cookie(request)
    session = ways.authentication.sessions.find(secret) if secret else None
    told = f"<p role=alert>{escape(said)}</p>" if said else ""
    if secret is None or session is None:
        link = _PROVIDER.substitute(next=escape(quote(f"/oauth2/device?user_code={quote(code)}", safe="")))
        provider = link if ways.authentication.settings.provider else ""
        body = _LOGIN.substitute(said=told, code=escape(code), provider=provider)
    else:
        name = escape(_name(ways, session))
        body = _ENTER.substitute(said=told, code=escape(code), name=name, csrf=csrf_token(secret))
    return HTMLResponse(_PAGE.substitute(body=body), status, {"cache-control": "no-store"})


def _name(ways: AuthServices, session: Session) -> str:
    user = ways.authentication.user(session.principal)
    return user.name if user else session.principal
