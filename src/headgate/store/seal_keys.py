"""The keys that seal the logs: one private key signs; the public keys of earlier ones stay known for verification."""

from collections.abc import Mapping
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

from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.private_files import replace_private_file

_END = "-----END PUBLIC KEY-----\n"


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The public keys whose seals are trusted, by fingerprint."""

    keys: Mapping[str, Ed25519PublicKey]

    @classmethod
    def read_beside(cls, file: Path) -> Self:
        """Return the public keys beside a key file; empty if there are none. Raises `StoreError` for an unreadable file."""
        try:
            parts = public_file(file).read_text(encoding="ascii").split(_END)[:-1]
            keys = [load_pem_public_key((part + _END).encode()) for part in parts]
        except FileNotFoundError:
            keys = []
        except (OSError, ValueError) as error:
            raise _unusable(public_file(file), error) from error
        return cls({fingerprint_of(key): key for key in keys if isinstance(key, Ed25519PublicKey)})

    def is_signed(self, key: str, signature: str, text: bytes) -> bool:
        """Whether the key of this fingerprint is known and signed the text."""
        try:
            self.keys[key].verify(bytes.fromhex(signature), text)
        except (KeyError, ValueError, InvalidSignature):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SealKey:
    """The private key that signs seals and checkpoints."""

    private: Ed25519PrivateKey

    @classmethod
    def open(cls, file: Path) -> Self:
        """Return the key of a file, which is created if it does not exist. Raises `StoreError` if it is no Ed25519 key."""
        try:
            if not file.exists():
                _make(file)
            key = cls(_private_key(file))
            if key.fingerprint not in KnownKeys.read_beside(file).keys:
                _remember(file, key.private)
        except (OSError, ValueError, TypeError) as error:
            raise _unusable(file, error) from error
        return key

    @classmethod
    def generate(cls) -> Self:
        """Return a new key that is stored in no file."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public key."""
        return fingerprint_of(self.private.public_key())

    def sign(self, text: bytes) -> str:
        """Return the signature, in hex."""
        return self.private.sign(text).hex()

    def is_signed(self, signature: str, text: bytes) -> bool:
        """Whether this key made the signature (hex) of the text."""
        return KnownKeys({self.fingerprint: self.private.public_key()}).is_signed(self.fingerprint, signature, text)


def rotate_private_key(file: Path) -> SealKey:
    """Replace the private key by a new one. The old private key is deleted; its public key stays known."""
    SealKey.open(file)
    _make(file)
    return SealKey.open(file)


def fingerprint_of(key: Ed25519PublicKey) -> str:
    """Return the fingerprint of a public key: the first 16 hex digits of the SHA-256 of its bytes."""
    return sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def public_file(file: Path) -> Path:
    """Return the path of the file with the public keys of a key file, the oldest first."""
    return file.with_suffix(".pub.pem")


def _private_key(file: Path) -> Ed25519PrivateKey:
    key = load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise TypeError("its key is not an Ed25519 key")
    return key


def _make(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = Ed25519PrivateKey.generate()
    _remember(file, private)
    replace_private_file(file, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _remember(file: Path, private: Ed25519PrivateKey) -> None:
    with public_file(file).open("ab") as opened:
        opened.write(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _unusable(file: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the key file `{file}`, which seals the logs, cannot be used ({error}); restore the file from a backup"
    )
