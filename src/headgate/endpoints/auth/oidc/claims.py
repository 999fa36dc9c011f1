"""What an identity token has to say before it is believed (OpenID Connect Core 1.0, 3.1.3.7)."""

import hmac
from collections.abc import Mapping
from typing import Any

from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.federation import ExternalIdentity
from headgate.control.authentication.settings import Provider

_LONGEST_SUBJECT = 255
_LONGEST_NAME = 100
_LATEST = 1e11
"""Seconds since the epoch; the largest time that the API takes, too."""


def identity_from_claims(claims: Mapping[str, Any], provider: Provider, nonce: str, now: float) -> ExternalIdentity:
    """Return who somebody is by the claims of a token whose signature holds. Raises `LoginError` for any that does not fit.

    `nonce` is the one that went along with the request, `now` the time in seconds since the epoch.
    """
    _for_us(claims, provider)
    _in_time(claims, provider.skew, now)
    if not hmac.compare_digest(_text(claims, "nonce").encode(), nonce.encode()):
        raise LoginError("the identity token answers another login; log in again")
    subject = _text(claims, "sub")
    if not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise LoginError("the identity token names nobody")
    email, said = claims.get("email"), claims.get("email_verified")
    # Some providers write it as a word; only what says yes counts.
    verified = said is True or said == "true"
    known = email if isinstance(email, str) and verified else None
    return ExternalIdentity(provider.issuer, subject, known, _name(claims) or known or subject)


def _name(claims: Mapping[str, Any]) -> str:
    """Return what to call somebody: on one line, and not for ever."""
    said = next((text for key in ("name", "preferred_username") if isinstance(text := claims.get(key), str)), "")
    return " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())[:_LONGEST_NAME]


def _for_us(claims: Mapping[str, Any], provider: Provider) -> None:
    if claims.get("iss") != provider.issuer:
        raise LoginError("the identity token is not of the provider that was asked")
    named = claims.get("aud")
    audience = [named] if isinstance(named, str) else named
    if not isinstance(audience, list) or provider.client not in audience:
        raise LoginError("the identity token is not meant for this deployment")
    party = claims.get("azp")
    if (party is not None or len(audience) > 1) and party != provider.client:
        raise LoginError("the identity token was given to somebody else")


def _in_time(claims: Mapping[str, Any], skew: float, now: float) -> None:
    if _time(claims, "exp") + skew <= now:
        raise LoginError("the identity token has ended; log in again")
    if _time(claims, "iat") - skew > now or ("nbf" in claims and _time(claims, "nbf") - skew > now):
        raise LoginError("the identity token is of a time to come; the clocks differ")


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise LoginError(f"the identity token has no `{name}`")
    # `NaN` and `Infinity` are no JSON, but Python reads them; with either, every comparison of times would hold.
    if not abs(value) <= _LATEST:
        raise LoginError(f"the `{name}` of the identity token is not a number of seconds that can be a time")
    return float(value)


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str):
        raise LoginError(f"the identity token has no `{name}`")
    return value
