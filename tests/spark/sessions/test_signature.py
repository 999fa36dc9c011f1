"""Request signatures: only the driver of this start can have sent a request, and only recently."""

import hashlib
import hmac

import pytest

from headgate.spark.sessions.signature import MAX_AGE, sign, sign_session, verify_signature

KEY = b"k" * 32
SIGNED = sign(KEY, "POST", "/guard/v1/decide?x=1", 1000, "hgs_a", b"{}")


def ask(
    key: bytes = KEY, target: str = "/guard/v1/decide?x=1", at: int = 1000, body: bytes = b"{}", **how: object
) -> bool:
    signature, now = str(how.get("signature", SIGNED)), float(str(how.get("now", 1000)))
    return verify_signature(key, "POST", target, at, "hgs_a", body, signature=signature, now=now)


def test_a_signature_is_the_hmac_of_the_lines_of_the_contract() -> None:
    text = f"POST\n/guard/v1/decide?x=1\n1000\nhgs_a\n{hashlib.sha256(b'{}').hexdigest()}"

    assert hmac.new(KEY, text.encode(), "sha256").hexdigest() == SIGNED
    assert ask()


@pytest.mark.parametrize("other", [{"key": b"x" * 32}, {"target": "/other"}, {"body": b""}, {"at": 1001}])
def test_a_signature_is_bound_to_key_target_time_and_content(other: dict[str, object]) -> None:
    assert not ask(**other)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("now", "fresh"), [(1000 + MAX_AGE, True), (1001 + MAX_AGE, False), (999 - MAX_AGE, False)])
def test_a_signature_expires(now: int, *, fresh: bool) -> None:
    assert ask(now=now) is fresh


@pytest.mark.parametrize("signature", ["", "é", SIGNED.upper()])
def test_a_text_that_is_no_signature_is_refused(signature: str) -> None:
    assert not ask(signature=signature)


def test_a_session_is_signed_with_the_hmac_of_its_handle() -> None:
    assert sign_session(KEY, "hgs_a") == f"hgs_a.{hmac.new(KEY, b'session:hgs_a', 'sha256').hexdigest()}"
