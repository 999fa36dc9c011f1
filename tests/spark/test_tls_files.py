"""The files of a certificate and its key."""

from pathlib import Path

import pytest

from headgate.spark.gateway.process.certificates import Certificates
from headgate.spark.tls_files import CertificateFiles, TlsError
from tests.endpoints.http.test_tls import issue


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(*issue(tmp_path, "first"))


def test_files_have_changed_until_they_are_loaded(files: CertificateFiles) -> None:
    assert files.has_changed()

    files.load()

    assert not files.has_changed()


def test_a_certificate_that_does_not_match_its_key_is_loaded_again_after_the_next_change(
    files: CertificateFiles, tmp_path: Path
) -> None:
    files.load()
    key = files.key.read_bytes()
    issue(tmp_path, "second")
    renewed = files.key.read_bytes()
    files.key.write_bytes(key)

    assert (files.has_changed(), files.reload(), files.has_changed()) == (True, None, False)

    files.key.write_bytes(renewed)
    assert files.reload() is not None


@pytest.mark.parametrize("missing", ["certificate", "key"])
def test_a_missing_file_is_refused_with_both_names(files: CertificateFiles, missing: str) -> None:
    getattr(files, missing).unlink()

    for act in (files.load, files.read):
        with pytest.raises(TlsError, match=r"the certificate `.*` with the key `.*` cannot be used: "):
            act()


def test_the_gateway_keeps_its_certificate_while_the_files_cannot_be_read(
    files: CertificateFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificates = Certificates(files.certificate, files.key)
    assert certificates._renew() is None

    issue(tmp_path, "second")
    with monkeypatch.context() as replaced:
        replaced.setattr(Path, "read_bytes", lambda _: (_ for _ in ()).throw(FileNotFoundError("gone")))
        assert certificates._renew() is None
    issue(tmp_path, "third")

    assert certificates._renew() is not None
