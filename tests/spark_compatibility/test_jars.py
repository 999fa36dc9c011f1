"""The jars of the comparison: only bytes with the pinned checksum come into the cache."""

import hashlib
from pathlib import Path

import pytest

from tools.compatibility import jars
from tools.compatibility.jars import SPARK_TESTS, SQLITE_JDBC, JarError, SuiteJar, ensure_suite_jar

BYTES = b"a jar"
JAR = SuiteJar("g", "a", "1", "tests", hashlib.sha256(BYTES).hexdigest())


def test_coordinates_and_file_names_are_those_of_maven() -> None:
    assert SPARK_TESTS.coordinates == "org.apache.spark:spark-sql_2.13:4.1.3:jar:tests"
    assert SPARK_TESTS.file_name == "spark-sql_2.13-4.1.3-tests.jar"
    assert SQLITE_JDBC.coordinates == "org.xerial:sqlite-jdbc:3.46.1.3"


def test_a_jar_is_copied_from_the_given_folder_once(tmp_path: Path) -> None:
    given, cache = tmp_path / "given", tmp_path / "cache"
    given.mkdir()
    (given / JAR.file_name).write_bytes(BYTES)

    placed = ensure_suite_jar(JAR, Path("java"), cache, given, print)
    (given / JAR.file_name).unlink()

    assert placed.read_bytes() == BYTES
    assert ensure_suite_jar(JAR, Path("java"), cache, given, print) == placed


def test_a_jar_with_another_checksum_is_not_used(tmp_path: Path) -> None:
    given, cache = tmp_path / "given", tmp_path / "cache"
    given.mkdir()
    (given / JAR.file_name).write_bytes(b"another")

    with pytest.raises(JarError, match="do not use the file"):
        ensure_suite_jar(JAR, Path("java"), cache, given, print)
    assert not (cache / JAR.file_name).exists()


def test_a_damaged_jar_in_the_cache_is_replaced(tmp_path: Path) -> None:
    (tmp_path / JAR.file_name).write_bytes(b"damaged")

    with pytest.raises(JarError, match="does not exist; add the file"):
        ensure_suite_jar(JAR, Path("java"), tmp_path, tmp_path / "nothing", print)


def test_a_failed_download_names_the_coordinates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no network\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setattr(jars.shutil, "which", lambda _: None)

    with pytest.raises(JarError, match=r"get g:a:1:jar:tests in another way.*no network"):
        ensure_suite_jar(JAR, java, tmp_path / "cache", None, print)
