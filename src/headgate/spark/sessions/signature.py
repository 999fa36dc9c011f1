"""The signature on every HTTP request from the driver to Headgate: only that driver could have sent it, just now."""

import hashlib
import hmac

MAX_AGE = 60
"""Seconds that a signature counts, in both directions of a clock that is off."""


def sign(key: bytes, method: str, target: str, at: int, handle: str, body: bytes) -> str:
    """Return the hex signature of one request; `target` is the path with its query, `at` seconds since the epoch."""
    text = "\n".join((method, target, str(at), handle, hashlib.sha256(body).hexdigest()))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def verify_signature(
    key: bytes, method: str, target: str, at: int, handle: str, body: bytes, *, signature: str, now: float
) -> bool:
    """Tell whether the signature is the key's and at most `MAX_AGE` seconds old."""
    expected = sign(key, method, target, at, handle, body)
    genuine = hmac.compare_digest(expected.encode(), signature.encode())
    return genuine and abs(now - at) <= MAX_AGE


def sign_session(key: bytes, handle: str) -> str:
    """Return the value that makes the guard believe that a Spark session belongs to the handle."""
    return f"{handle}.{hmac.new(key, f'session:{handle}'.encode(), hashlib.sha256).hexdigest()}"
