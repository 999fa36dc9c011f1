"""The secrets of connections: sealed with a key of the deployment, so that the store alone tells nobody any of them."""

import json
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES, _NONCE_BYTES = 32, 12


class VaultError(Exception):
    """A secret cannot be sealed or opened, and the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Vault:
    """Seals and opens with AES-256-GCM. The key is one line of hexadecimal text in a file, made when first needed."""

    file: Path

    def seal(self, connection: str, secret: Mapping[str, str]) -> Mapping[str, str]:
        """Return the secret as it is kept: it opens for this connection only. Raises `VaultError`."""
        key, nonce = self._key(make=True), secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(key).encrypt(nonce, json.dumps(dict(secret)).encode(), connection.encode())
        return {"key": _name(key), "nonce": b64encode(nonce).decode(), "sealed": b64encode(sealed).decode()}

    def open(self, connection: str, kept: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the secret of a connection. Raises `VaultError`."""
        key = self._key(make=False)
        if kept.get("key") != _name(key):
            raise VaultError(
                f"the secret was sealed with another key than that in `{self.file}`: bring that key back, or put the "
                "secret in again"
            )
        try:
            nonce, sealed = b64decode(str(kept["nonce"])), b64decode(str(kept["sealed"]))
            opened: dict[str, str] = json.loads(AESGCM(key).decrypt(nonce, sealed, connection.encode()))
        except (InvalidTag, KeyError, ValueError):
            raise VaultError("what is kept of the secret was changed: put it in again") from None
        return opened

    def _key(self, *, make: bool) -> bytes:
        try:
            if make and not self.file.exists():
                _make(self.file)
            key = bytes.fromhex(self.file.read_text(encoding="ascii").strip())
        except FileNotFoundError:
            raise VaultError(
                f"the key of the secrets is not at `{self.file}`: bring it back, or put the secrets in again"
            ) from None
        except (OSError, ValueError) as error:
            raise VaultError(f"the key of the secrets in `{self.file}` cannot be used: {error}") from error
        if len(key) != _KEY_BYTES:
            raise VaultError(f"the key of the secrets in `{self.file}` is not {_KEY_BYTES} bytes in hexadecimal")
        return key


NO_VAULT = Vault(Path(os.devnull))
"""Seals nothing and opens nothing."""


def _name(key: bytes) -> str:
    return sha256(key).hexdigest()[:16]


def _make(file: Path) -> None:
    """Write a new key, whole or not at all; where another process was first, its key stands."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mine = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(secrets.token_hex(_KEY_BYTES) + "\n")
        written.flush()
        os.fsync(written.fileno())
    try:
        os.link(mine, file)
    except FileExistsError:
        pass
    finally:
        mine.unlink()
