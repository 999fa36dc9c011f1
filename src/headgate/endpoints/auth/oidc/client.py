"""Our side of the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0)."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import extract_compact

from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.federation import ExternalIdentity
from headgate.control.authentication.settings import Provider
from headgate.endpoints.auth.oidc.claims import identity_from_claims
from headgate.endpoints.auth.oidc.errors import ProviderError
from headgate.endpoints.auth.oidc.provider_metadata import Documents, Published, fetch_json

_UNKNOWN = "the identity token is not signed as the provider signs; log in again"


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One login on its way, made of one secret that stays in the browser that began it."""

    secret: str

    @classmethod
    def begin(cls) -> "LoginAttempt":
        """Return a new one."""
        return cls(secrets.token_urlsafe(32))

    @property
    def state(self) -> str:
        """What comes back with the code: it shows that this browser asked."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """What comes back in the identity token: it shows that the token answers this."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """What only who asked can show when the code is exchanged."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """What tells of the verifier without telling it."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())

    def _derive(self, use: str) -> str:
        return _encoded(hashlib.sha256(f"headgate {use} {self.secret}".encode()).digest())


class ProviderClient:
    """Sends people to the provider, and finds out who they are when they come back."""

    def __init__(self, provider: Provider, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._clock = clock
        self._documents = Documents(provider, clock)

    def authorization_url(self, attempt: LoginAttempt, back: str) -> str:
        """Return the address where somebody logs in and is sent `back` from. Raises `ProviderError`."""
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._provider.client,
                "redirect_uri": back,
                "scope": " ".join(self._provider.scopes),
                "state": attempt.state,
                "nonce": attempt.nonce,
                "code_challenge": attempt.challenge,
                "code_challenge_method": "S256",
            }
        )
        endpoint = self._documents.newest().endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{query}"

    def exchange_code(self, attempt: LoginAttempt, code: str, back: str) -> ExternalIdentity:
        """Return who has come back with a code. Raises `LoginError` if that cannot be believed, else `ProviderError`."""
        return self.verify_id_token(self._exchange(attempt, code, back), attempt.nonce)

    def verify_id_token(self, token: str, nonce: str) -> ExternalIdentity:
        """Return whom an identity token is about. Raises `LoginError` if it cannot be believed, else `ProviderError`."""
        return identity_from_claims(self._verify(token), self._provider, nonce, self._clock())

    def _exchange(self, attempt: LoginAttempt, code: str, back: str) -> str:
        provider, published = self._provider, self._documents.newest()
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": provider.client,
            "code_verifier": attempt.verifier,
        }
        more: dict[str, Any] = {"data": fields}
        if provider.secret is not None:
            # OpenID Connect Discovery: without a word it is HTTP Basic.
            methods = published.said.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
            if "client_secret_basic" in methods:
                more["auth"] = (quote(provider.client, safe=""), quote(provider.secret, safe=""))
            else:
                fields["client_secret"] = provider.secret
        token = fetch_json(provider, "POST", published.endpoint("token_endpoint"), **more).get("id_token")
        if not isinstance(token, str):
            raise ProviderError(f"`{provider.issuer}` gave no identity token")
        return token

    def _verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that the provider has signed with one of its keys."""
        try:
            header = extract_compact(token.encode("ascii")).headers()
        except (JoseError, ValueError):
            raise LoginError("that is no identity token") from None
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._provider.algorithms or not isinstance(kid, (str, type(None))):
            raise LoginError(_UNKNOWN)
        published = self._documents.newest()
        if not published.matching_keys(kid, algorithm):
            published = self._documents.get_newer_than(published)
        return self._checked(token, algorithm, kid, published)

    def _checked(self, token: str, algorithm: str, kid: str | None, published: Published) -> Mapping[str, Any]:
        for key in published.matching_keys(kid, algorithm):
            try:
                return dict(jwt.decode(token, key, algorithms=[algorithm]).claims)
            except (JoseError, ValueError, TypeError, json.JSONDecodeError):
                continue
        raise LoginError(_UNKNOWN)


def _encoded(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
