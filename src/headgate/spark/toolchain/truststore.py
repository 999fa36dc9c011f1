"""A Java trust store with the certificate authorities of this machine.

The bundled Java trusts only the authorities it was built with. Behind a company's proxy every download would
fail, although Python and the browser work: they trust the machine's own list. This module writes that list in
Java's oldest key store format, which consists of public certificates and a checksum, and contains no secret.
"""

import hashlib
import ssl
import struct
from collections.abc import Iterable
from pathlib import Path

PASSWORD = "changeit"  # noqa: S105 - the conventional one: the format requires a password even if the content is not secret
_MAGIC = 0xFEEDFEED
_VERSION = 2
_CERTIFICATE = 2
_WHITENER = b"Mighty Aphrodite"
"""The salt that the format prescribes for its checksum."""


def list_trusted_certificates() -> list[bytes]:
    """Return the certificates (DER) that Python trusts on this machine; `SSL_CERT_FILE` names another list."""
    return ssl.create_default_context().get_ca_certs(binary_form=True)


def write_truststore(certificates: Iterable[bytes], path: Path) -> None:
    """Write the certificates (DER) as a Java key store."""
    entries = [_entry(f"authority-{number}", der) for number, der in enumerate(certificates)]
    body = struct.pack(">III", _MAGIC, _VERSION, len(entries)) + b"".join(entries)
    checksum = hashlib.sha1(PASSWORD.encode("utf-16-be") + _WHITENER + body, usedforsecurity=False).digest()
    path.write_bytes(body + checksum)


def _entry(alias: str, der: bytes) -> bytes:
    undated = 0
    return (
        struct.pack(">I", _CERTIFICATE)
        + _text(alias)
        + struct.pack(">q", undated)
        + _text("X.509")
        + struct.pack(">I", len(der))
        + der
    )


def _text(value: str) -> bytes:
    encoded = value.encode("ascii")
    return struct.pack(">H", len(encoded)) + encoded
