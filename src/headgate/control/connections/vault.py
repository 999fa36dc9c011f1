"""The secrets of connections: encrypted with a key of the deployment, so that the store alone gives none of them away."""

import fcntl
import json
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES, _NONCE_BYTES = 32, 12


class VaultError(Exception):
    """A secret cannot be encrypted or decrypted, and the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Vault:
    """Encrypts and decrypts with AES-256-GCM. Each line of a file is a key in hexadecimal: the first encrypts, all of them decrypt.

    The file is made when it is first needed, and read each time, so that a rotation needs no restart.
    """

    file: Path

    def encrypt(self, connection: str, secret: Mapping[str, str]) -> Mapping[str, str]:
        """Return the secret as it is stored: it decrypts for this connection only. Raises `VaultError`."""
        key, nonce = self._keys(make=True)[0], secrets.token_bytes(_NONCE_BYTES)
        encrypted = AESGCM(key).encrypt(nonce, json.dumps(dict(secret)).encode(), connection.encode())
        return {"key": _name(key), "nonce": b64encode(nonce).decode(), "sealed": b64encode(encrypted).decode()}

    def decrypt(self, connection: str, kept: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the secret of a connection. Raises `VaultError`."""
        key = next((each for each in self._keys() if _name(each) == kept.get("key")), None)
        if key is None:
            raise VaultError(
                f"the secret was encrypted with another key than that in `{self.file}`: bring that key back, or put the "
                "secret in again"
            )
        try:
            nonce, encrypted = b64decode(str(kept["nonce"])), b64decode(str(kept["sealed"]))
            secret: dict[str, str] = json.loads(AESGCM(key).decrypt(nonce, encrypted, connection.encode()))
        except (InvalidTag, KeyError, ValueError):
            raise VaultError("what is kept of the secret was changed: put it in again") from None
        return secret

    def is_current(self, kept: Mapping[str, Any]) -> bool:
        """Return whether a secret is encrypted with the newest key. Raises `VaultError`."""
        return kept.get("key") == _name(self._keys()[0])

    @property
    def former_keys(self) -> tuple[str, ...]:
        """The names of the keys that only decrypt what was encrypted before. Raises `VaultError`."""
        return tuple(map(_name, self._keys()[1:]))

    def add_key(self) -> None:
        """Encrypt with a new key from now on; the keys before it still decrypt. Raises `VaultError`."""
        self._replace(lambda keys: [secrets.token_bytes(_KEY_BYTES), *keys])

    def remove_keys(self, names: Collection[str]) -> None:
        """Remove keys: what they have encrypted can no longer be decrypted. The newest key stays. Raises `VaultError`."""
        self._replace(lambda keys: [keys[0], *(key for key in keys[1:] if _name(key) not in names)])

    def _replace(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        """Replace the keys by what they are changed to; two processes that do so at once do it one after the other."""
        try:
            with _locked(self.file):
                _write_beside(self.file, change(self._keys(make=True))).replace(self.file)
                _sync(self.file.parent)
        except OSError as error:
            raise VaultError(f"the key of the secrets in `{self.file}` cannot be written: {error.strerror}") from error

    def _keys(self, *, make: bool = False) -> list[bytes]:
        try:
            if make and not self.file.exists():
                _make(self.file)
            keys = [bytes.fromhex(line) for line in self.file.read_text(encoding="ascii").split("\n") if line.strip()]
        except FileNotFoundError:
            raise VaultError(
                f"the key of the secrets is not at `{self.file}`: bring it back, or put the secrets in again"
            ) from None
        except (OSError, ValueError) as error:
            raise VaultError(f"the key of the secrets in `{self.file}` cannot be used: {error}") from error
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise VaultError(f"the key of the secrets in `{self.file}` is not {_KEY_BYTES} bytes in hexadecimal")
        return keys


NO_VAULT = Vault(Path(os.devnull))
"""Encrypts nothing and decrypts nothing."""


def _name(key: bytes) -> str:
    return sha256(key).hexdigest()[:16]


def _make(file: Path) -> None:
    """Write a new key, whole or not at all; where another process was first, its key stands."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mine = _write_beside(file, [secrets.token_bytes(_KEY_BYTES)])
    try:
        os.link(mine, file)
    except FileExistsError:
        pass
    finally:
        mine.unlink()


def _write_beside(file: Path, keys: Sequence[bytes]) -> Path:
    """Write keys to a new file beside another one, and return it. Raises `OSError`; then no file is left."""
    mine = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.writelines(f"{key.hex()}\n" for key in keys)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError:
        mine.unlink(missing_ok=True)
        raise
    return mine


@contextmanager
def _locked(file: Path) -> Generator[None]:
    """Wait for the other processes that change the file, and keep them waiting until the block ends."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
