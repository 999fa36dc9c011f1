"""Provider metadata (OpenID Connect Discovery): endpoints and keys, cached; read again when old, or for an unknown key."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, Key, OKPKey, RSAKey

from headgate.control.authentication.settings import Provider
from headgate.control.egress.loopback import is_loopback
from headgate.endpoints.auth.oidc.errors import ProviderError

_MOST = 1_000_000
_KINDS = (RSAKey, ECKey, OKPKey)


@dataclass(frozen=True, slots=True)
class Published:
    """The provider's metadata (`said`), its keys, and when they were read (`at`, seconds since the epoch)."""

    said: Mapping[str, Any]
    keys: tuple[Key, ...]
    at: float

    def endpoint(self, name: str) -> str:
        """Return the address of an endpoint from the metadata. Raises `ProviderError` if the address is not safe."""
        return _sound(str(self.said.get(name, "")))

    def matching_keys(self, kid: str | None, algorithm: str) -> tuple[Key, ...]:
        """Return the keys that may have signed a token: those with its key id, or all if the token has no key id."""
        return tuple(
            key
            for key in self.keys
            if (kid is None or key.kid == kid)
            and key.get("use", "sig") == "sig"
            and key.get("alg", algorithm) == algorithm
        )


class Documents:
    """Cache of the provider's metadata. Thread-safe: one thread reads, the others wait."""

    def __init__(self, provider: Provider, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: Published | None = None

    def newest(self) -> Published:
        """Return the metadata, read at most `keys_age` seconds ago. Raises `ProviderError`."""
        with self._lock:
            if self._kept is None or self._clock() - self._kept.at >= self._provider.keys_age:
                self._kept = self._read()
            return self._kept

    def get_newer_than(self, seen: Published) -> Published:
        """Return metadata newer than `seen`, which lacks a key; `seen` itself if it is younger than `refetch` seconds."""
        with self._lock:
            if self._kept is not None and self._kept.at > seen.at:
                return self._kept
            if self._clock() - seen.at < self._provider.refetch:
                return seen
            self._kept = self._read()
            return self._kept

    def _read(self) -> Published:
        issuer = self._provider.issuer
        said = fetch_json(self._provider, "GET", f"{_sound(issuer).rstrip('/')}/.well-known/openid-configuration")
        if said.get("issuer") != issuer:
            raise ProviderError(
                f"the metadata of `{issuer}` names the issuer `{said.get('issuer')}`; "
                "set HEADGATE_OIDC_ISSUER to the issuer's exact name"
            )
        listed = fetch_json(self._provider, "GET", _sound(str(said.get("jwks_uri", "")))).get("keys")
        if not isinstance(listed, list):
            raise ProviderError(
                f"the document at the `jwks_uri` of `{issuer}` has no list `keys`; check "
                "HEADGATE_OIDC_ISSUER and the provider"
            )
        keys = (_key(each) for each in listed)
        return Published(said, tuple(key for key in keys if key is not None), self._clock())


def fetch_json(provider: Provider, method: str, url: str, **more: Any) -> dict[str, Any]:
    """Send a request to the provider and return the JSON object of its response. Raises `ProviderError`."""
    try:
        with (
            httpx.Client(timeout=provider.timeout, trust_env=not _is_loopback(url)) as client,
            client.stream(method, url, headers={"accept": "application/json"}, **more) as answer,
        ):
            body = b""
            for part in answer.iter_bytes():
                body += part
                if len(body) > _MOST:
                    raise ProviderError(
                        f"the response of `{url}` is larger than {_MOST} bytes; set HEADGATE_OIDC_ISSUER "
                        "to the issuer URL of the OpenID Connect provider"
                    )
            answered = httpx.Response(answer.status_code, content=body)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ProviderError(
            f"the OpenID Connect provider cannot be reached at `{url}` ({error}); check "
            "HEADGATE_OIDC_ISSUER and the network"
        ) from error
    if answered.status_code != httpx.codes.OK:
        raise ProviderError(
            f"the response of `{url}` has the status {answered.status_code} instead of 200; check "
            "HEADGATE_OIDC_ISSUER and the provider"
        )
    try:
        found = answered.json()
    except ValueError:
        raise ProviderError(
            f"the response of `{url}` is not JSON; check HEADGATE_OIDC_ISSUER and the provider"
        ) from None
    if not isinstance(found, dict):
        raise ProviderError(
            f"the response of `{url}` is not a JSON object; check HEADGATE_OIDC_ISSUER and the provider"
        )
    return found


def _key(written: Any) -> Key | None:
    """Return a public key; None for a key of another kind, and for a shared (symmetric) key: it could also sign tokens."""
    try:
        key = JWKRegistry.import_key(written)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return key if isinstance(key, _KINDS) else None


def _sound(url: str) -> str:
    """Return `url` if it is safe to use: with TLS, or on this machine. Raises `ProviderError`."""
    if urlsplit(url).scheme == "https" or (urlsplit(url).scheme == "http" and _is_loopback(url)):
        return url
    raise ProviderError(
        f"the address `{url}` of the OpenID Connect provider does not use https; use https, or a loopback "
        "address with http"
    )


def _is_loopback(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname or "")
