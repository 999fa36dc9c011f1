"""TLS certificate reload: new connections use the renewed certificate, open ones keep theirs."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headgate.spark.tls_files import no_password, read_stamps

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between two checks of the files."""


class TlsError(Exception):
    """The certificate or its key cannot be used; the message names the files."""


class Certificate:
    """A certificate and its key, reloaded when their files change."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises `TlsError`."""
        self._files = (certificate, key)
        self._tried = read_stamps(self._files)
        self.context = self._read()
        """The TLS context for a listener. It passes each new connection to the newest context."""
        self._newest = self.context
        self.context.sni_callback = self._hand_over

    def renew(self) -> bool:
        """Reload the files; return whether they can be used. If not, the certificate in use is kept and the fault is logged."""
        self._tried = read_stamps(self._files)
        try:
            self._newest = self._read()
        except TlsError as error:
            log.error("%s; the server keeps the certificate in use", error)  # noqa: TRY400 (the message is complete)
            return False
        log.info("the certificate was reloaded")
        return True

    async def watch(self, every: float = LOOK_EVERY) -> None:
        """Reload the files whenever they change, until cancelled."""
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
    """Return a function for uvicorn's setting `ssl_context_factory`."""
    return lambda _config, _default: certificate.context
