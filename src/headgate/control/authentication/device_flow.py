"""Device flow (RFC 8628): login on a device without a browser. It shows a code; a user with a session elsewhere enters it."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headgate.control.authentication.errors import TooOftenError
from headgate.control.authentication.login_rate_limit import AttemptLimiter, client_key
from headgate.control.authentication.secrets import DEVICE, ParsedSecret, generate, parse_secret
from headgate.control.authentication.sessions import NewSession, Session, Sessions
from headgate.control.authentication.settings import AttemptLimit, LoginSettings
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, Store

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH = 8
_EARLY = 0.8
"""The fraction of the interval after which the next poll is accepted: clocks and networks jitter."""


class PendingReason(Enum):
    """Why a device has no session yet, in the words of RFC 8628."""

    PENDING = "authorization_pending"
    TOO_FAST = "slow_down"
    DENIED = "access_denied"
    OVER = "expired_token"


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """A device's request to log in: the code that it shows, and the secret by which it polls. Times in seconds."""

    secret: str
    code: str
    seconds: float
    interval: float


class DeviceFlow:
    """The devices that wait for a user's approval."""

    def __init__(self, store: Store, sessions: Sessions, settings: LoginSettings) -> None:
        self._store = store
        self._sessions = sessions
        self._settings = settings
        self._asking = AttemptLimiter(settings.codes_of_address)
        self._entering = AttemptLimiter(settings.tries_of_code)
        self._polling = AttemptLimiter(AttemptLimit(1, settings.device_interval * _EARLY))

    def ask(self, told: Mapping[str, str], now: float) -> DeviceAuthorization:
        """Return a new code. `told` is the device's description of itself. Raises `TooOftenError`."""
        self._asking.record(client_key(told.get("address", "")), now)
        credential = self._new_credential(told, now + self._settings.device)
        return DeviceAuthorization(
            credential.format(DEVICE),
            _format_code(credential.id),
            self._settings.device,
            self._settings.device_interval,
        )

    def answer(self, code: str, session: Session, now: float, *, allow: bool) -> None:
        """Approve or deny the login of a device as the user of a session. Raises `NotFoundError`, `TooOftenError`."""
        self._entering.record(session.principal, now)
        body = self._store.document("device", _read(code))
        if body is None or body["ends"] <= now or "allow" in body:
            raise _build_missing_error()
        answered = {**body, "allow": allow, "session": session.id}
        try:
            self._store.put_document(DocumentPut("device", _read(code), answered, expected=body))
        except DocumentConflictError:
            raise _build_missing_error() from None
        self._entering.forget(session.principal)

    def redeem(self, secret: str, now: float) -> NewSession | PendingReason:
        """Return the session of an approved device, or why it has none. The session is returned once."""
        credential = parse_secret(DEVICE, secret)
        body = self._store.document("device", credential.id) if credential else None
        if credential is None or body is None or not credential.matches(body) or body["ends"] <= now:
            return PendingReason.OVER
        try:
            self._polling.record(credential.id, now)
        except TooOftenError:
            return PendingReason.TOO_FAST
        if "allow" not in body:
            return PendingReason.PENDING
        try:
            self._store.put_document(DocumentPut("device", credential.id, None, expected=body))
        except DocumentConflictError:
            return PendingReason.OVER
        return self._start_session(body)

    def tidy(self, now: float) -> None:
        """Erase expired codes. They are refused without that too."""
        for id, body in self._store.documents("device").items():
            if body["ends"] <= now:
                self._store.put_document(DocumentPut("device", id, None))

    def _new_credential(self, told: Mapping[str, str], ends: float) -> ParsedSecret:
        while True:
            credential = generate("".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)))
            body = {"hash": credential.hash, "ends": ends, "told": dict(told)}
            with suppress(DocumentConflictError):
                self._store.put_document(DocumentPut("device", credential.id, body, new=True))
                return credential

    def _start_session(self, body: Mapping[str, Any]) -> NewSession | PendingReason:
        """Return a session of the user that approved the device, if the approving session has not ended meanwhile."""
        by = self._sessions.by_id(body["session"])
        if not body["allow"] or by is None:
            return PendingReason.DENIED
        started = self._sessions.start(by.principal, "device", body["told"], let_in_by=by.id)
        if self._sessions.by_id(by.id) is None:
            # It ended after the check above: the new password that ended it did not see the session of the device.
            self._sessions.end(by.principal, started.session.id)
            return PendingReason.DENIED
        return started


def _build_missing_error() -> NotFoundError:
    return NotFoundError(
        "no device waits for approval with this code; the code may be wrong or expired; start the login on the device again"
    )


def _format_code(code: str) -> str:
    return f"{code[: _LENGTH // 2]}-{code[_LENGTH // 2 :]}"


def _read(code: str) -> str:
    """Return the stored form of a code: users type it with spaces, hyphens or lower case."""
    return "".join(letter for letter in code.upper() if letter in _LETTERS)
