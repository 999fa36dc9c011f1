"""OAuth 2.0: tokens for service principals (client credentials) and sessions for devices (RFC 6749, 8414, 8628)."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote_plus

from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from headgate.control.authentication.device_flow import PendingReason
from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.services import AuthServices
from headgate.endpoints.auth.dependencies import Client, CurrentAuth, client_name_of
from headgate.endpoints.common.indexed_router import IndexedRouter
from headgate.endpoints.common.route_metadata import PROBLEMS, PUBLIC
from headgate.endpoints.http.hosts import base_url

router = IndexedRouter(tags=["oauth"])

_FORM = "application/x-www-form-urlencoded"
_CREDENTIALS = "client_credentials"
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
_NOT_KEPT = {"cache-control": "no-store"}


class OAuthErrorBody(BaseModel):
    """An OAuth 2.0 error response (RFC 6749, 5.2)."""

    error: str
    error_description: str


class OAuthToken(BaseModel):
    """An access token, sent as `Authorization: Bearer`, and its lifetime in seconds."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 (the word of the specification)
    expires_in: int


class DeviceAuthorizationBody(BaseModel):
    """The code and addresses that a device shows to its user, and the `device_code` that it polls with."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class OAuthError(Exception):
    """An error of an OAuth request; `word` is its OAuth error code, such as `invalid_request`."""

    def __init__(self, word: str, detail: str, status: int = 400) -> None:
        super().__init__(detail)
        self.word = word
        self.status = status


def on_oauth(_: Request, error: Exception) -> JSONResponse:
    """Return the OAuth 2.0 error response for an `OAuthError`."""
    if not isinstance(error, OAuthError):
        raise error
    known = {"www-authenticate": 'Basic realm="headgate"'} if error.status == 401 else {}  # noqa: PLR2004
    body = OAuthErrorBody(error=error.word, error_description=str(error))
    return JSONResponse(body.model_dump(), error.status, headers={**_NOT_KEPT, **known})


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form. Raises `OAuthError` for a field that occurs twice, which OAuth forbids."""
    body = await request.body()
    if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise OAuthError("invalid_request", f"the body of the request is not a form; send the fields as `{_FORM}`")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise OAuthError(
            "invalid_request", "the form cannot be parsed; send at most 50 fields, percent-encoded in ASCII"
        ) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise OAuthError("invalid_request", "a field of the form occurs twice; send each field once")
    return fields


Form = Annotated[Mapping[str, str], Depends(read_form)]


def _takes(reason: str, **fields: str) -> dict[str, Any]:
    """Return the OpenAPI description of a route that accepts a form and needs no caller."""
    properties = {name: {"type": "string", "description": text} for name, text in fields.items()}
    content = {_FORM: {"schema": {"type": "object", "properties": properties}}}
    fault: dict[str, Any] = {"model": OAuthErrorBody}
    return {
        "openapi_extra": {PUBLIC: reason, "requestBody": {"content": content}},
        "responses": {
            400: {**fault, "description": "The request is invalid, or cannot be granted (yet); `error` is the reason."},
            401: {**fault, "description": "The client's id or secret is wrong."},
            429: {**fault, "description": "Too many requests."},
            **{code: PROBLEMS[code] for code in (413, 503)},
        },
    }


@router.post(
    "/oauth2/token",
    response_model=OAuthToken,
    **_takes(
        "a client that requests a token has none yet",
        grant_type=f"`{_CREDENTIALS}`, or `{_DEVICE}`",
        client_id="the id of a service principal; or send it as the user name of HTTP Basic",
        client_secret="a token of the service principal; or send it as the password of HTTP Basic",  # noqa: S106 (a description)
        device_code="the `device_code` in the response of `/oauth2/device_authorization`",
    ),
)
def create_oauth_token(request: Request, fields: Form, ways: CurrentAuth) -> JSONResponse:
    """Issue a short-lived token to a service principal, or a session to an approved device."""
    kind = fields.get("grant_type")
    if kind == _CREDENTIALS:
        granted = _for_service(ways, *_client(request, fields))
    elif kind == _DEVICE:
        granted = _for_device(ways, fields.get("device_code", ""))
    else:
        raise OAuthError(
            "unsupported_grant_type", f"`grant_type` is missing or not supported; send `{_CREDENTIALS}` or `{_DEVICE}`"
        )
    return JSONResponse(granted.model_dump(), headers=_NOT_KEPT)


@router.post(
    "/oauth2/device_authorization",
    **_takes(
        "a device has no identity until a user approves it",
        client_id="a name of the device, for the user's list of sessions",
    ),
)
def create_device_authorization(
    request: Request, fields: Form, ways: CurrentAuth, told: Client
) -> DeviceAuthorizationBody:
    """Create a code for a device. A user who is logged in elsewhere enters the code to approve the device."""
    said = {**told, "agent": client_name_of(fields.get("client_id", "")) or told["agent"]}
    try:
        asked = ways.devices.ask(said, ways.authentication.now)
    except TooOftenError as error:
        raise OAuthError("slow_down", str(error), 429) from None
    page = f"{base_url(request.scope)}/oauth2/device"
    return DeviceAuthorizationBody(
        device_code=asked.secret,
        user_code=asked.code,
        verification_uri=page,
        verification_uri_complete=f"{page}?user_code={asked.code}",
        expires_in=int(asked.seconds),
        interval=int(asked.interval),
    )


@router.get(
    "/.well-known/oauth-authorization-server",
    openapi_extra={PUBLIC: "a document of addresses, which a client reads before it logs in"},
)
def get_oauth_metadata(request: Request) -> dict[str, Any]:
    """Return the OAuth 2.0 authorization server metadata (RFC 8414)."""
    here = base_url(request.scope)
    return {
        "issuer": here,
        "token_endpoint": f"{here}/oauth2/token",
        "device_authorization_endpoint": f"{here}/oauth2/device_authorization",
        "grant_types_supported": [_CREDENTIALS, _DEVICE],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": [],
    }


def _for_service(ways: AuthServices, client: str, secret: str) -> OAuthToken:
    try:
        issued = ways.access_tokens.issue(client, secret)
    except LoginError as error:
        raise OAuthError("invalid_client", str(error), 401) from None
    return OAuthToken(access_token=issued.secret, expires_in=int(issued.seconds))


def _for_device(ways: AuthServices, code: str) -> OAuthToken:
    found = ways.devices.redeem(code, ways.authentication.now)
    if isinstance(found, PendingReason):
        raise OAuthError(found.value, _WAITS[found])
    return OAuthToken(access_token=found.secret, expires_in=int(found.session.ends - found.session.at))


_WAITS = {
    PendingReason.PENDING: "no user has entered the code yet; poll again after `interval` seconds",
    PendingReason.TOO_FAST: "the device polls too fast; wait `interval` seconds between two requests",
    PendingReason.DENIED: "the user denied the device",
    PendingReason.OVER: "the device code is unknown, used or expired; request a new one at `/oauth2/device_authorization`",
}


def _client(request: Request, fields: Mapping[str, str]) -> tuple[str, str]:
    """Return id and secret of the client, from HTTP Basic or from the form. Raises `OAuthError` for both."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return fields.get("client_id", ""), fields.get("client_secret", "")
    if scheme.lower() != "basic":
        raise OAuthError(
            "invalid_request",
            "the `Authorization` header is not HTTP Basic; send the client's id and secret with HTTP Basic or in the form",
        )
    if "client_secret" in fields:
        raise OAuthError(
            "invalid_request", "the client's secret is in HTTP Basic and in the form; send it in one of them"
        )
    try:
        client, _, secret = base64.b64decode(value, validate=True).decode("ascii").partition(":")
    except (binascii.Error, ValueError):
        raise OAuthError(
            "invalid_client",
            (
                "the credentials after `Authorization: Basic` are not `id:secret` in base64; encode the "
                "client's id and secret in this form"
            ),
            401,
        ) from None
    return unquote_plus(client), unquote_plus(secret)
