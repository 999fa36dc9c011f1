"""Encryption of the secrets of connections, with a key of the deployment: access to the store alone reveals none of them."""

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

from headgate.control.kernel.private_files import create_private_file, replace_private_file

_KEY_BYTES, _NONCE_BYTES = 32, 12


class VaultError(Exception):
    """A secret cannot be encrypted or decrypted; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Vault:
    """Encrypts and decrypts with AES-256-GCM. Each line of a file is a key in hexadecimal: the first encrypts, all of them decrypt.

    The file is created on first use, and read each time, so that a key rotation needs no restart.
    """

    file: Path

    def encrypt(self, connection: str, secret: Mapping[str, str]) -> Mapping[str, str]:
        """Return the encrypted secret for storage: it decrypts for this connection only. Raises `VaultError`."""
        key, nonce = self._keys(make=True)[0], secrets.token_bytes(_NONCE_BYTES)
        encrypted = AESGCM(key).encrypt(nonce, json.dumps(dict(secret)).encode(), connection.encode())
        return {"key": _name(key), "nonce": b64encode(nonce).decode(), "sealed": b64encode(encrypted).decode()}

    def decrypt(self, connection: str, kept: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the secret of a connection. Raises `VaultError`."""
        key = next((each for each in self._keys() if _name(each) == kept.get("key")), None)
        if key is None:
            raise VaultError(
                f"the secret of the connection was encrypted with a key that is not in `{self.file}`; restore that file from a backup, or set the secret again"
            )
        try:
            nonce, encrypted = b64decode(str(kept["nonce"])), b64decode(str(kept["sealed"]))
            secret: dict[str, str] = json.loads(AESGCM(key).decrypt(nonce, encrypted, connection.encode()))
        except (InvalidTag, KeyError, ValueError):
            raise VaultError(
                "the secret of the connection cannot be decrypted, because its stored form is damaged or was altered; update the connection with its secret"
            ) from None
        return secret

    def is_current(self, kept: Mapping[str, Any]) -> bool:
        """Return whether a secret is encrypted with the newest key. Raises `VaultError`."""
        return kept.get("key") == _name(self._keys()[0])

    @property
    def former_keys(self) -> tuple[str, ...]:
        """The names of the former keys, which only decrypt. Raises `VaultError`."""
        return tuple(map(_name, self._keys()[1:]))

    def add_key(self) -> None:
        """Add a new key, which encrypts from now on; the former keys still decrypt. Raises `VaultError`."""
        self._replace(lambda keys: [secrets.token_bytes(_KEY_BYTES), *keys])

    def remove_keys(self, names: Collection[str]) -> None:
        """Remove former keys: secrets encrypted with them can no longer be decrypted. The newest key stays. Raises `VaultError`."""
        self._replace(lambda keys: [keys[0], *(key for key in keys[1:] if _name(key) not in names)])

    def _replace(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        """Replace the keys by the result of `change`. A file lock serializes concurrent processes."""
        try:
            with _locked(self.file):
                replace_private_file(self.file, _encode(change(self._keys(make=True))))
        except OSError as error:
            raise VaultError(
                f"the key file of connection secrets, `{self.file}`, cannot be written ({error.strerror}); check its "
                "permissions and the disk, and retry"
            ) from error

    def _keys(self, *, make: bool = False) -> list[bytes]:
        try:
            if make and not self.file.exists():
                create_private_file(self.file, _encode([secrets.token_bytes(_KEY_BYTES)]))
            keys = [bytes.fromhex(line) for line in self.file.read_text(encoding="ascii").split("\n") if line.strip()]
        except FileNotFoundError:
            raise VaultError(
                f"the key file of connection secrets, `{self.file}`, is missing; restore it, or enter the secrets again"
            ) from None
        except (OSError, ValueError) as error:
            raise VaultError(
                f"the key file of connection secrets, `{self.file}`, cannot be read ({error}); correct its permissions, or "
                "restore the file from a backup"
            ) from error
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise VaultError(
                f"a key in the key file of connection secrets, `{self.file}`, is not {_KEY_BYTES} bytes in hexadecimal; "
                "restore the file from a backup"
            )
        return keys


NO_VAULT = Vault(Path(os.devnull))
"""Encrypts nothing and decrypts nothing."""


def _name(key: bytes) -> str:
    return sha256(key).hexdigest()[:16]


def _encode(keys: Sequence[bytes]) -> bytes:
    return "".join(f"{key.hex()}\n" for key in keys).encode()


@contextmanager
def _locked(file: Path) -> Generator[None]:
    """Lock the file against other processes that change it, until the block ends."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
