"""TLS with a certificate that can be changed while it is used: new connections get the new one, open ones stay."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headgate.spark.tls_files import no_password, read_stamps

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between two looks at the files."""


class TlsError(Exception):
    """The certificate or its key cannot be used; the message says which files."""


class Certificate:
    """A certificate and its key, read from their files again when these change."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises `TlsError`."""
        self._files = (certificate, key)
        self._tried = read_stamps(self._files)
        self.context = self._read()
        """What a listener is given. It hands each new connection to the newest."""
        self._newest = self.context
        self.context.sni_callback = self._hand_over

    def renew(self) -> bool:
        """Read the files again; say whether they could be used. If not, the certificate in use stays, and the log says why."""
        self._tried = read_stamps(self._files)
        try:
            self._newest = self._read()
        except TlsError as error:
            log.error("%s; the certificate in use stays", error)  # noqa: TRY400 (the sentence says it all)
            return False
        log.info("the certificate was read again")
        return True

    async def watch(self, every: float = LOOK_EVERY) -> None:
        """Read the files again whenever they change; until cancelled."""
        while True:
            await asyncio.sleep(every)
            if read_stamps(self._files) != self._tried:
                self.renew()

    def _hand_over(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._newest

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        certificate, key = self._files
        try:
            context.load_cert_chain(certificate, key, password=no_password)
        except (OSError, ValueError) as error:
            raise TlsError(f"the certificate `{certificate}` with the key `{key}` cannot be used: {error}") from None
        return context


def build_context_factory(certificate: Certificate) -> Callable[[Any, Any], ssl.SSLContext]:
    """Return what uvicorn's setting `ssl_context_factory` wants."""
    return lambda _config, _default: certificate.context
