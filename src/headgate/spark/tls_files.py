"""The files of a TLS certificate and its key, loaded again when they have changed."""

import logging
import ssl
from pathlib import Path

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int] | None
"""A stamp of a file's content: time of change, inode and size; None if the file cannot be read."""


class TlsError(Exception):
    """The certificate or its key cannot be used; the message names the files."""


class CertificateFiles:
    """A certificate and its key, in files that a renewal replaces."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate = certificate
        self.key = key
        self._loaded: tuple[Stamp, ...] = ()

    def has_changed(self) -> bool:
        """Whether a file has changed since the last load, also since one that failed."""
        return self._stamps() != self._loaded

    def load(self) -> ssl.SSLContext:
        """Return a context of a TLS server with the certificate. Raises `TlsError` if the files cannot be used."""
        self._loaded = self._stamps()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise self._unusable(str(error)) from None
        return context

    def reload(self) -> ssl.SSLContext | None:
        """Load the files again. If they cannot be used, log the fault and return None; the caller keeps the certificate in use."""
        try:
            context = self.load()
        except TlsError as error:
            log.error("the previous certificate stays in use: %s", error)  # noqa: TRY400 (the message is complete)
            return None
        log.info("the certificate `%s` was loaded again", self.certificate)
        return context

    def read(self) -> tuple[bytes, bytes]:
        """Return the content of the key's and the certificate's file. Raises `TlsError` if they cannot be read."""
        try:
            return self.key.read_bytes(), self.certificate.read_bytes()
        except OSError as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> TlsError:
        return TlsError(f"the certificate `{self.certificate}` with the key `{self.key}` cannot be used: {why}")

    def _stamps(self) -> tuple[Stamp, ...]:
        return tuple(_stamp(file) for file in (self.certificate, self.key))


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)


def _no_password() -> str:
    """Raise `ValueError` for a key with a password: without this callback OpenSSL would prompt at the terminal."""
    raise ValueError("the key file of the certificate is protected by a password; use a key without a password")
