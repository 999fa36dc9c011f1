"""The client of the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0)."""

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

_UNKNOWN = (
    "the identity token is not signed with a key and an algorithm of the OpenID Connect provider; log in again, or "
    "ask the operator to check the provider"
)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login in progress: all its values derive from one secret, which stays in the browser that began the login."""

    secret: str

    @classmethod
    def begin(cls) -> "LoginAttempt":
        """Create a login attempt with a new random secret."""
        return cls(secrets.token_urlsafe(32))

    @property
    def state(self) -> str:
        """The `state` that the provider returns with the code: it proves that this browser began the login."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """The `nonce` that the provider returns in the identity token: it proves that the token is for this login."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The PKCE code verifier: only the client that began the login can present it when the code is exchanged."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """The PKCE code challenge: a hash of the verifier, which does not reveal it."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())

    def _derive(self, use: str) -> str:
        return _encoded(hashlib.sha256(f"headgate {use} {self.secret}".encode()).digest())


class ProviderClient:
    """Redirects users to the provider, and identifies them when they return with a code."""

    def __init__(self, provider: Provider, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._clock = clock
        self._documents = Documents(provider, clock)

    def authorization_url(self, attempt: LoginAttempt, back: str) -> str:
        """Return the provider's address where a user logs in and is redirected to `back`. Raises `ProviderError`."""
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
        """Exchange a code for the identity of the user.

        Raises `LoginError` if the identity token is not valid, `ProviderError` if the provider cannot be used.
        """
        return self.verify_id_token(self._exchange(attempt, code, back), attempt.nonce)

    def verify_id_token(self, token: str, nonce: str) -> ExternalIdentity:
        """Return the identity in an identity token.

        Raises `LoginError` if the token is not valid, `ProviderError` if the provider cannot be used.
        """
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
            # OpenID Connect Discovery: if the metadata names no method, it is HTTP Basic.
            methods = published.said.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
            if "client_secret_basic" in methods:
                more["auth"] = (quote(provider.client, safe=""), quote(provider.secret, safe=""))
            else:
                fields["client_secret"] = provider.secret
        token = fetch_json(provider, "POST", published.endpoint("token_endpoint"), **more).get("id_token")
        if not isinstance(token, str):
            raise ProviderError(
                f"the token endpoint of `{provider.issuer}` returned no `id_token`; check at the provider "
                "that the client may use OpenID Connect with the scope `openid`"
            )
        return token

    def _verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token. Raises `LoginError` unless one of the provider's keys has signed the token."""
        try:
            header = extract_compact(token.encode("ascii")).headers()
        except (JoseError, ValueError):
            raise LoginError(
                "the identity token of the OpenID Connect provider is not a signed JWT; log in again, or ask "
                "the operator to check the provider"
            ) from None
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
