"""Validation of the claims of an identity token (OpenID Connect Core 1.0, 3.1.3.7)."""

import hmac
from collections.abc import Mapping
from typing import Any

from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.federation import ExternalIdentity
from headgate.control.authentication.settings import Provider

_LONGEST_SUBJECT = 255
_LONGEST_NAME = 100
_LATEST = 1e11
"""The largest time that is accepted, in seconds since the epoch; the API has the same limit."""


def identity_from_claims(claims: Mapping[str, Any], provider: Provider, nonce: str, now: float) -> ExternalIdentity:
    """Return the identity of a user from the claims of a token whose signature is verified.

    `nonce` is the one that was sent with the request, `now` the time in seconds since the epoch. Raises `LoginError` if a
    claim is not valid.
    """
    _for_us(claims, provider)
    _in_time(claims, provider.skew, now)
    if not hmac.compare_digest(_text(claims, "nonce").encode(), nonce.encode()):
        raise LoginError("the identity token belongs to another login: its `nonce` differs; log in again")
    subject = _text(claims, "sub")
    if not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise LoginError(
            f"the `sub` of the identity token is empty or longer than {_LONGEST_SUBJECT} characters; "
            "ask the operator to check the provider"
        )
    email, said = claims.get("email"), claims.get("email_verified")
    # Some providers write `email_verified` as a string; an address counts as verified only with `true` or `"true"`.
    verified = said is True or said == "true"
    known = email if isinstance(email, str) and verified else None
    return ExternalIdentity(provider.issuer, subject, known, _name(claims) or known or subject)


def _name(claims: Mapping[str, Any]) -> str:
    """Return the name to show for the user: printable, on one line, at most 100 characters; empty if there is none."""
    said = next((text for key in ("name", "preferred_username") if isinstance(text := claims.get(key), str)), "")
    return " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())[:_LONGEST_NAME]


def _for_us(claims: Mapping[str, Any], provider: Provider) -> None:
    if claims.get("iss") != provider.issuer:
        raise LoginError(
            "the `iss` of the identity token is not the configured provider; "
            "ask the operator to check the OpenID Connect settings"
        )
    named = claims.get("aud")
    audience = [named] if isinstance(named, str) else named
    if not isinstance(audience, list) or provider.client not in audience:
        raise LoginError(
            "the `aud` of the identity token does not name the client of this deployment; "
            "ask the operator to check the OpenID Connect settings"
        )
    party = claims.get("azp")
    if (party is not None or len(audience) > 1) and party != provider.client:
        raise LoginError(
            "the `azp` of the identity token is not the client of this deployment; "
            "ask the operator to check the OpenID Connect settings"
        )


def _in_time(claims: Mapping[str, Any], skew: float, now: float) -> None:
    if _time(claims, "exp") + skew <= now:
        raise LoginError("the identity token has expired; log in again")
    if _time(claims, "iat") - skew > now or ("nbf" in claims and _time(claims, "nbf") - skew > now):
        raise LoginError(
            "the identity token is not valid yet, because the clocks of the provider and the server differ; ask the "
            "operator to correct them"
        )


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise LoginError(
            f"the claim `{name}` of the identity token is missing or not a number; ask the operator to check "
            "the OpenID Connect provider"
        )
    # `NaN` and `Infinity` are not JSON, but Python parses them; with either, every comparison of times would hold.
    if not abs(value) <= _LATEST:
        raise LoginError(
            f"the claim `{name}` of the identity token is not a valid time in seconds since the epoch; ask the "
            "operator to check the OpenID Connect provider"
        )
    return float(value)


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str):
        raise LoginError(
            f"the claim `{name}` of the identity token is missing or not a string; ask the operator to check "
            "the OpenID Connect provider"
        )
    return value
