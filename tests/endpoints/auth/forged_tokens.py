"""Forged identity tokens, each as a function of the provider and the expected nonce."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.endpoints.auth.provider import CLIENT, RSA, FakeProvider


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _headed(token: str, header: Any) -> str:
    return f"{_encoded(json.dumps(header).encode())}.{token.partition('.')[2]}"


def _claims(fake: FakeProvider, nonce: str) -> dict[str, Any]:
    times = {"exp": fake.now + 300, "iat": fake.now}
    return {**fake.claims, **times, "iss": fake.issuer, "aud": CLIENT, "nonce": nonce}


def _as_secret(fake: FakeProvider, nonce: str) -> str:
    """Sign with the public key as if it were a shared secret."""
    said = _encoded(json.dumps(_claims(fake, nonce)).encode())
    text = f"{_encoded(json.dumps({'alg': 'HS256', 'kid': 'rsa0'}).encode())}.{said}"
    return f"{text}.{_encoded(hmac.digest(RSA[0].as_pem(private=False), text.encode(), hashlib.sha256))}"


def _changed(fake: FakeProvider, nonce: str) -> str:
    head, _, signature = fake.token(nonce).split(".")
    return f"{head}.{fake.token(nonce, sub='2').split('.')[1]}.{signature}"


def _own_key(fake: FakeProvider, nonce: str) -> str:
    header = {"alg": "RS256", "jwk": RSA[1].as_dict(private=False)}
    return fake.signed(header, _claims(fake, nonce), RSA[1])


FORGERIES: Mapping[str, Callable[[FakeProvider, str], str]] = {
    "alg none": lambda fake, nonce: _headed(fake.token(nonce), {"alg": "none"}).rpartition(".")[0] + ".",
    "alg None": lambda fake, nonce: _headed(fake.token(nonce), {"alg": "None"}).rpartition(".")[0] + ".",
    "unsigned": lambda fake, nonce: fake.token(nonce).rpartition(".")[0] + ".",
    "two parts": lambda fake, nonce: fake.token(nonce).rpartition(".")[0],
    "another key": lambda fake, nonce: fake.signed({"alg": "RS256", "kid": "rsa0"}, _claims(fake, nonce), RSA[1]),
    "the public key as a secret": _as_secret,
    "its own key in the header": _own_key,
    "other claims": _changed,
    "no claims": lambda fake, _: fake.signed({"alg": "RS256", "kid": "rsa0"}, [], RSA[0]),
    "a key id that is no text": lambda fake, nonce: _headed(fake.token(nonce), {"alg": "RS256", "kid": 7}),
    "an algorithm that is no text": lambda fake, nonce: _headed(fake.token(nonce), {"alg": ["RS256"]}),
    "no algorithm": lambda fake, nonce: _headed(fake.token(nonce), {}),
    "no header": lambda fake, nonce: _headed(fake.token(nonce), []),
    "nothing": lambda *_: "",
    "dots": lambda *_: "..",
    "no token": lambda *_: "a.b.c",
    "not ASCII": lambda *_: "é.é.é",
}
