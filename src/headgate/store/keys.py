"""The keys that seal the logs: one signs, and those that came before it are still known."""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from headgate.control.ports import StoreError

_END = "-----END PUBLIC KEY-----\n"


@dataclass(frozen=True, slots=True)
class SealKeys:
    """The key in a file, and every public key of the file beside it, by fingerprint."""

    private: Ed25519PrivateKey
    known: dict[str, Ed25519PublicKey]

    @classmethod
    def open(cls, file: Path) -> Self:
        """Return the keys of a file, with a key made if there is none. Raises `StoreError` for a file of something else."""
        try:
            if not file.exists():
                _make(file)
            private = _private_key(file)
            known = _public_keys(public_file(file))
            if fingerprint(private.public_key()) not in known:
                _remember(file, private)
                known = _public_keys(public_file(file))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(
                f"the key of the log `{file}` cannot be used ({error}); put back the file that was there"
            ) from error
        return cls(private, known)

    @property
    def current(self) -> str:
        """The fingerprint of the key that signs."""
        return fingerprint(self.private.public_key())

    def sign(self, text: bytes) -> str:
        """Return the signature, in hex."""
        return self.private.sign(text).hex()

    def signed(self, key: str, signature: str, text: bytes) -> bool:
        """Say whether the key of this fingerprint is known and signed the text."""
        try:
            self.known[key].verify(bytes.fromhex(signature), text)
        except (KeyError, ValueError, InvalidSignature):
            return False
        return True


def rotate(file: Path) -> SealKeys:
    """Make a new key that signs from now on. The one before it is gone, and its public half stays known."""
    SealKeys.open(file)
    _make(file)
    return SealKeys.open(file)


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the short name of a public key."""
    return sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def public_file(file: Path) -> Path:
    """Return where the public halves of a key file's keys lie, the oldest first."""
    return file.with_suffix(".pub.pem")


def _private_key(file: Path) -> Ed25519PrivateKey:
    key = load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise TypeError("another kind of key")
    return key


def _make(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = Ed25519PrivateKey.generate()
    _remember(file, private)
    written = file.with_suffix(f".{os.getpid()}.new")
    descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        opened.flush()
        os.fsync(opened.fileno())
    written.replace(file)


def _remember(file: Path, private: Ed25519PrivateKey) -> None:
    with public_file(file).open("ab") as opened:
        opened.write(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _public_keys(file: Path) -> dict[str, Ed25519PublicKey]:
    if not file.exists():
        return {}
    parts = file.read_text(encoding="ascii").split(_END)[:-1]
    keys = [load_pem_public_key((part + _END).encode()) for part in parts]
    return {fingerprint(key): key for key in keys if isinstance(key, Ed25519PublicKey)}
