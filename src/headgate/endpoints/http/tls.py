"""TLS certificate reload: new connections use the renewed certificate, open ones keep theirs."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headgate.spark.tls_files import CertificateFiles

LOOK_EVERY = 5.0
"""Seconds between two checks of the files."""


class Certificate:
    """A certificate and its key, reloaded when their files change."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises `TlsError`."""
        self._files = CertificateFiles(certificate, key)
        self.context = _for_http(self._files.load())
        """The TLS context for a listener. It passes each new connection to the newest context."""
        self._newest = self.context
        self.context.sni_callback = self._hand_over

    def renew(self) -> bool:
        """Reload the files; return whether they can be used. If not, the certificate in use is kept and the fault is logged."""
        context = self._files.reload()
        if context is not None:
            self._newest = _for_http(context)
        return context is not None

    async def watch(self, every: float = LOOK_EVERY) -> None:
        """Reload the files whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(every)
            if self._files.has_changed():
                self.renew()

    def _hand_over(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._newest


def _for_http(context: ssl.SSLContext) -> ssl.SSLContext:
    context.set_alpn_protocols(["http/1.1"])
    return context


def build_context_factory(certificate: Certificate) -> Callable[[Any, Any], ssl.SSLContext]:
    """Return a function for uvicorn's setting `ssl_context_factory`."""
    return lambda _config, _default: certificate.context
