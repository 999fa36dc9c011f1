"""The gateway's TLS certificate: the files are checked for each connection, so that a renewal needs no restart."""

import logging
import ssl
from pathlib import Path
from typing import Any, Final

import grpc

from headgate.spark.tls_files import no_password, read_stamps

log = logging.getLogger(__name__)

_UNUSABLE: Final = "the new certificate `%s` with its key cannot be used (%s), so the gateway keeps the previous one; correct the files"


class CertificateError(Exception):
    """The certificate and its key cannot be used."""


class Certificates:
    """Provides gRPC with the newest usable certificate."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises `CertificateError`."""
        self._files = (certificate, key)
        self._seen = read_stamps(self._files)
        try:
            self._first = self._read()
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"the certificate `{certificate}` with its key cannot be used ({error}); correct the files"
            ) from None

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials for a secure port."""
        return grpc.dynamic_ssl_server_credentials(self._first, self._renew)

    def _renew(self) -> Any:
        """Return the certificate if the files have changed and can be used. Called at each handshake, on any thread."""
        found = read_stamps(self._files)
        if found == self._seen:
            return None
        self._seen = found
        try:
            renewed = self._read()
        except (OSError, ValueError) as error:
            log.error(_UNUSABLE, self._files[0], error)  # noqa: TRY400 (the message is complete without a trace)
            return None
        log.info("the gateway uses the renewed certificate")
        return renewed

    def _read(self) -> Any:
        certificate, key = self._files
        # gRPC accepts any bytes and fails at each handshake; this check shows at once whether certificate and key match.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=no_password)
        return grpc.ssl_server_certificate_configuration([(key.read_bytes(), certificate.read_bytes())])
