"""HMAC signatures of the driver's HTTP requests: they prove that this driver sent the request within the last minute."""

import hashlib
import hmac

MAX_AGE = 60
"""The validity of a signature in seconds; it allows for clock skew in both directions."""


def sign(key: bytes, method: str, target: str, at: int, handle: str, body: bytes) -> str:
    """Return the hex signature of one request; `target` is the path with its query, `at` seconds since the epoch."""
    text = "\n".join((method, target, str(at), handle, hashlib.sha256(body).hexdigest()))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def verify_signature(
    key: bytes, method: str, target: str, at: int, handle: str, body: bytes, *, signature: str, now: float
) -> bool:
    """Whether the signature was made with the key and is at most `MAX_AGE` seconds old."""
    expected = sign(key, method, target, at, handle, body)
    genuine = hmac.compare_digest(expected.encode(), signature.encode())
    return genuine and abs(now - at) <= MAX_AGE


def sign_session(key: bytes, handle: str) -> str:
    """Return the handle with a signature, which proves to the guard that a Spark session belongs to the handle."""
    return f"{handle}.{hmac.new(key, f'session:{handle}'.encode(), hashlib.sha256).hexdigest()}"
