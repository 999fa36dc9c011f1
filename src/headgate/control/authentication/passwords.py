"""Passwords: argon2id, with the same work whether or not there is somebody of that name."""

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
"""Seconds; a turn does not take longer."""


class Passwords:
    """Hashes and checks. Safe to use from several threads; only so many work at once, for each takes its memory."""

    def __init__(self, settings: LoginSettings) -> None:
        cost = settings.hashing
        self._settings = settings
        self._hasher = PasswordHasher(cost.time, cost.memory, cost.lanes)
        self._turn = threading.BoundedSemaphore(cost.at_once)
        self._places = threading.BoundedSemaphore(cost.at_once + cost.waiting)
        # Of no password that anybody knows; made up and not worked out, which would hold up every start.
        self._nobodys = f"$argon2id$v=19$m={cost.memory},t={cost.time},p={cost.lanes}${_noise(16)}${_noise(32)}"

    def hash_new_password(self, password: str, name: str) -> str:
        """Return what is kept of a new password. Raises `InvalidError` for one that is too short, or is the name.

        Raises `TooOftenError` where too many wait for their turn, as everything here that works.
        """
        shortest, longest = self._settings.shortest_password, self._settings.longest_password
        if not shortest <= len(password) <= longest:
            raise InvalidError(f"a password has {shortest} to {longest} characters")
        if password.casefold() == name.casefold():
            raise InvalidError("a password is not the login name")
        return self.hash_password(password)

    def hash_password(self, password: str) -> str:
        """Return what is kept of a password."""
        with self._in_turn():
            return self._hasher.hash(_normalize_password(password))

    def matches(self, kept: str | None, password: str) -> bool:
        """Say whether it is the password that this was kept of; None is nobody's, and takes as long."""
        if len(password) > self._settings.longest_password:
            return False
        with self._in_turn():
            try:
                self._hasher.verify(kept or self._nobodys, _normalize_password(password))
            except (VerificationError, InvalidHashError):
                return False
        return kept is not None

    def is_outdated(self, kept: str) -> bool:
        """Say whether it was kept at another cost than the one that is set now."""
        return self._hasher.check_needs_rehash(kept)

    @contextmanager
    def _in_turn(self) -> Generator[None]:
        """Wait for a turn to work. Raises `TooOftenError` where too many wait."""
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
    # Keyboards differ in how they write an accent.
    return normalize_text(password)
