"""TLS of the server: version 1.2 or newer, with the certificate that is in the file now."""

import asyncio
import datetime as dt
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headgate.endpoints.http.tls import Certificate, build_context_factory
from headgate.spark.tls_files import TlsError
from tests.endpoints.http.asgi_client import guarded
from tests.endpoints.http.test_connection import LAST, Address, exchange, listening, statuses

START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def issue(folder: Path, name: str, *, password: bytes | None = None) -> tuple[Path, Path]:
    """Write a certificate with this name and its key, replacing those in the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(START)
        .not_valid_after(START + dt.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "tls.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, hidden))
    (folder / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return folder / "tls.crt", folder / "tls.key"


@contextmanager
def served(certificate: Certificate) -> Iterator[Address]:
    """Serve with TLS, like the server."""
    with listening(guarded(), ssl_context_factory=build_context_factory(certificate)) as address:
        yield address


def trusting(name: str | None = None, **versions: ssl.TLSVersion) -> Callable[[socket.socket], ssl.SSLSocket]:
    """Return a function that wraps a connection in TLS, with this server name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for setting, version in versions.items():
        setattr(context, setting, version)
    return lambda plain: context.wrap_socket(plain, server_hostname=name)


def shown(address: Address, name: str | None = None) -> str:
    """Return the name in the certificate that a new connection gets."""
    with socket.create_connection(address, timeout=10) as plain, trusting(name)(plain) as opened:
        certificate = x509.load_der_x509_certificate(opened.getpeercert(binary_form=True) or b"")
        return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


class TestTls:
    def test_a_request_over_tls_is_answered_with_strict_transport_security(self, tmp_path: Path) -> None:
        with served(Certificate(*issue(tmp_path, "one"))) as address:
            answer = exchange(address, LAST, wrap=trusting())

        assert statuses(answer) == [200]
        assert b"strict-transport-security: max-age" in answer

    def test_the_oldest_accepted_tls_version_is_1_2(self, tmp_path: Path) -> None:
        old = trusting(maximum_version=ssl.TLSVersion.TLSv1_2)
        certificate = Certificate(*issue(tmp_path, "one"))

        with served(certificate) as address:
            assert statuses(exchange(address, LAST, wrap=old)) == [200]

        assert certificate.context.minimum_version == ssl.TLSVersion.TLSv1_2

    @pytest.mark.parametrize("name", [None, "headgate.example.com"])
    def test_new_connections_get_a_renewed_certificate_and_open_ones_continue(
        self, tmp_path: Path, name: str | None
    ) -> None:
        certificate = Certificate(*issue(tmp_path, "one"))

        with (
            served(certificate) as address,
            socket.create_connection(address, timeout=10) as plain,
            trusting(name)(plain) as early,
        ):
            before = shown(address, name)
            issue(tmp_path, "two")
            renewed = certificate.renew()
            early.sendall(LAST)
            still = early.recv(64)
            after = shown(address, name)

        assert (before, renewed, after) == ("one", True, "two")
        assert statuses(still) == [200]


class TestACertificate:
    def test_an_unusable_certificate_does_not_replace_the_one_in_use(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        certificate = Certificate(*issue(tmp_path, "one"))
        kept = (tmp_path / "tls.key").read_bytes()
        issue(tmp_path, "two")
        (tmp_path / "tls.key").write_bytes(kept)

        with served(certificate) as address:
            renewed, now = certificate.renew(), shown(address)

        assert (renewed, now) == (False, "one")
        assert "the previous certificate stays in use" in caplog.text

    def test_a_certificate_is_read_again_when_its_files_change(self, tmp_path: Path) -> None:
        certificate = Certificate(*issue(tmp_path, "one"))
        issue(tmp_path, "second")

        async def some_time() -> None:
            async with asyncio.timeout(0.1):
                await certificate.watch(every=0.001)

        with pytest.raises(TimeoutError):
            asyncio.run(some_time())

        with served(certificate) as address:
            assert shown(address) == "second"

    def test_a_certificate_that_is_missing_or_needs_a_password_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TlsError, match=r"`.*tls\.crt` with the key `.*tls\.key` cannot be used"):
            Certificate(tmp_path / "tls.crt", tmp_path / "tls.key")
        with pytest.raises(TlsError, match="is protected by a password; use a key without a password"):
            Certificate(*issue(tmp_path, "one", password=b"hush"))
