"""Password hashing: argon2id, with the same work whether or not the login name exists."""

import base64
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headgate.control.authentication.errors import TooOftenError
from headgate.control.authentication.settings import LoginSettings
from headgate.control.kernel.errors import InvalidError
from headgate.control.text.confusables import normalize_text

_SOON = 1.0
"""The wait in seconds that a refusal reports; hashing one password does not take longer."""


class Passwords:
    """Hashes and verifies passwords. Safe to use from several threads; concurrency is limited, because each hash needs much memory."""

    def __init__(self, settings: LoginSettings) -> None:
        cost = settings.hashing
        self._settings = settings
        self._hasher = PasswordHasher(cost.time, cost.memory, cost.lanes)
        self._turn = threading.BoundedSemaphore(cost.at_once)
        self._places = threading.BoundedSemaphore(cost.at_once + cost.waiting)
        # A dummy hash of no known password: random and not computed, because hashing would slow down every start.
        self._dummy = f"$argon2id$v=19$m={cost.memory},t={cost.time},p={cost.lanes}${_noise(16)}${_noise(32)}"

    def hash_new_password(self, password: str, name: str) -> str:
        """Return the hash of a new password. Raises `InvalidError` if it is too short, too long, or the login name.

        Like every method here that hashes, raises `TooOftenError` if too many callers wait.
        """
        shortest, longest = self._settings.shortest_password, self._settings.longest_password
        if len(password) < shortest:
            raise InvalidError(f"the password is too short; use at least {shortest} characters")
        if len(password) > longest:
            raise InvalidError(f"the password is too long; use at most {longest} characters")
        if password.casefold() == name.casefold():
            raise InvalidError("the password must differ from the login name")
        return self.hash_password(password)

    def hash_password(self, password: str) -> str:
        """Return the hash of a password."""
        with self._in_turn():
            return self._hasher.hash(_normalize_password(password))

    def matches(self, kept: str | None, password: str) -> bool:
        """Return whether `kept` is the hash of the password. None, for an unknown user, takes as long and is False."""
        if len(password) > self._settings.longest_password:
            return False
        with self._in_turn():
            try:
                self._hasher.verify(kept or self._dummy, _normalize_password(password))
            except (VerificationError, InvalidHashError):
                return False
        return kept is not None

    def is_outdated(self, kept: str) -> bool:
        """Return whether a hash has another cost than the configured one."""
        return self._hasher.check_needs_rehash(kept)

    @contextmanager
    def _in_turn(self) -> Generator[None]:
        """Wait until hashing may begin. Raises `TooOftenError` if too many callers wait."""
        if not self._places.acquire(blocking=False):
            raise TooOftenError(_SOON)
        try:
            with self._turn:
                yield
        finally:
            self._places.release()


def _noise(bytes: int) -> str:
    return base64.b64encode(secrets.token_bytes(bytes)).rstrip(b"=").decode()


def _normalize_password(password: str) -> str:
    # Keyboards encode an accented letter in different ways.
    return normalize_text(password)
