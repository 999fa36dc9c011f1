"""The gateway's TLS certificate: the files are checked for each connection, so that a renewal needs no restart."""

from pathlib import Path
from typing import Any

import grpc

from headgate.spark.tls_files import CertificateFiles, TlsError


class Certificates:
    """Provides gRPC with the newest usable certificate."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises `TlsError`."""
        self._files = CertificateFiles(certificate, key)
        # gRPC accepts any bytes and fails at each handshake; OpenSSL shows at once whether certificate and key match.
        self._files.load()
        self._first = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials for a secure port."""
        return grpc.dynamic_ssl_server_credentials(self._first, self._renew)

    def _renew(self) -> Any:
        """Return the certificate if the files have changed and can be used. Called at each handshake, on any thread."""
        if not self._files.has_changed() or self._files.reload() is None:
            return None
        try:
            return self._read()
        except TlsError:  # the files were replaced again since they were loaded; the next handshake loads them
            return None

    def _read(self) -> Any:
        return grpc.ssl_server_certificate_configuration([self._files.read()])
