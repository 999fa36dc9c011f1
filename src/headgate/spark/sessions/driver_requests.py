"""Authentication of a driver's requests: signed with the driver's key, on behalf of an open session."""

import time
from collections.abc import Callable, Mapping

from headgate.facts.caller import Caller
from headgate.spark.sessions.sessions import SparkSessions
from headgate.spark.sessions.signature import verify_signature

TIME_HEADER = "x-headgate-time"
SIGNATURE_HEADER = "x-headgate-signature"
_LONGEST_TIME = 12
"""The limit of digits of the time in seconds since the epoch: Python refuses to parse numbers of arbitrary length."""


class DriverCalls:
    """Verifies that the running driver has sent a request."""

    def __init__(self, key: Callable[[], bytes], sessions: SparkSessions) -> None:
        self._key = key
        self._sessions = sessions

    def caller(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Caller | None:
        """Return the caller of the session that a signed request acts for; None if the signature or session is invalid."""
        found = self.session(method, target, headers, body)
        return found[1] if found else None

    def session(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Caller] | None:
        """Return the handle and caller of a signed request's session; None if the signature or session is invalid."""
        handle = headers.get("authorization", "").removeprefix("Bearer ")
        at, signature = headers.get(TIME_HEADER, ""), headers.get(SIGNATURE_HEADER, "")
        key = self._key()
        if not key or not at.isdecimal() or len(at) > _LONGEST_TIME or not signature:
            return None
        # Before the signature, which takes longer: a client without a session must not cause that work.
        if not self._sessions.is_open(handle):
            return None
        if not verify_signature(key, method, target, int(at), handle, body, signature=signature, now=time.time()):
            return None
        caller = self._sessions.caller(handle)
        return (handle, caller) if caller else None
