"""An OpenID Connect provider on loopback: real keys, real tokens, real HTTP; a test can rotate its keys and change its answers."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode

from joserfc import jws, jwt
from joserfc.jwk import ECKey, Key, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.threads import served

CLIENT, SECRET = "headgate", "a secret: with % and +"
RSA = [RSAKey.generate_key(2048, {"kid": f"rsa{each}", "use": "sig"}) for each in range(2)]
ELLIPTIC = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig", "alg": "ES256"})


class FakeProvider:
    """The provider. `claims` describe the user who logs in; `asked` records the paths of requests."""

    def __init__(self, now: float) -> None:
        self.issuer = ""
        self.now = now
        self.key: Key = RSA[0]
        self.algorithm = "RS256"
        self.published: Sequence[Key] = [RSA[0]]
        self.claims: dict[str, Any] = {"sub": "1", "email": "ann@acme.com", "email_verified": True, "name": "Ann"}
        self.metadata: dict[str, Any] = {}
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.broken: Response | None = None
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._metadata),
                Route("/keys", self._keys),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    def token(self, answers: str, /, **claims: Any) -> str:
        """Return an identity token; a claim of None is omitted."""
        said = {
            "iss": self.issuer,
            "aud": CLIENT,
            "exp": self.now + 300,
            "iat": self.now,
            "nonce": answers,
            **self.claims,
            **claims,
        }
        kept = {name: value for name, value in said.items() if value is not None}
        header = {"alg": self.algorithm} | ({"kid": self.key.kid} if self.key.kid else {})
        return jwt.encode(header, kept, self.key, algorithms=[self.algorithm])

    def signed(self, header: dict[str, Any], claims: Any, key: Key) -> str:
        """Return a signed token with any header and claims."""
        return jws.serialize_compact(header, json.dumps(claims), key, algorithms=[header["alg"]])

    def rotate(self, *, keep: bool = False) -> None:
        """Sign with another key from now on."""
        self.key = RSA[1]
        self.published = [RSA[0], RSA[1]] if keep else [RSA[1]]

    def _metadata(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        return self.broken or JSONResponse({**said, **self.metadata})

    def _keys(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse({"keys": [key.as_dict(private=False) for key in self.published]})

    def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        code = f"code{len(self.codes)}"
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 303)

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        fits = (
            asked is not None
            and asked["code_challenge"] == challenge.rstrip(b"=").decode()
            and asked["redirect_uri"] == form.get("redirect_uri")
            and self._client(request, form)
        )
        if not fits or asked is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": self.token(asked["nonce"])})

    def _client(self, request: Request, form: dict[str, str]) -> bool:

        if "client_secret_post" in self.metadata.get("token_endpoint_auth_methods_supported", ()):
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        _, _, value = request.headers.get("authorization", "").partition(" ")
        client, _, secret = base64.b64decode(value).decode().partition(":")
        return (unquote_plus(client), unquote_plus(secret)) == (CLIENT, SECRET)


class Doorway:
    """An application that passes requests to the current provider."""

    def __init__(self) -> None:
        self.url = ""
        self.provider: FakeProvider | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            assert self.provider is not None
            await self.provider.app(scope, receive, send)


@contextmanager
def doorway() -> Iterator[Doorway]:
    """Serve providers on loopback."""
    found = Doorway()
    with served(found) as url:  # pyright: ignore[reportArgumentType] (any application will do)
        found.url = url
        yield found
