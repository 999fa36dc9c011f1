"""Java programs that tests compile and run, with the jars and the options of the page about JDBC tools."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.spark.toolchain.jars import Jar, ensure_jar
from headgate.spark.toolchain.java import Java, find_java
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder
from tests.repo.sessions import BLOCK, ran

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "howto" / "connect-dbeaver.md"
COMPILER: Final = Jar(
    group="org.eclipse.jdt",
    artifact="ecj",
    version="3.38.0",
    sha256="97c566b120009c203a2fc8b291f4a9adbc171cf1ccb70f06f6b4e1828c00ce8e",
    megabytes=3,
)
"""A Java compiler that runs on any Java: the bundled one has none."""
_WITHIN: Final = 120


@dataclass(frozen=True)
class JavaPrograms:
    """A folder with the files of the page and the jars that its script copies, in which programs are compiled and run."""

    java: Path
    compiler: Path
    folder: Path

    def compile(self, *sources: Path) -> None:
        """Compile sources into the folder, with Java's own libraries only, like a program that uses JDBC."""
        command = [self.java, "-jar", self.compiler, "-17", "-proc:none", "-d", self.folder, *sources]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(
        self, name: str, *arguments: str, options: Sequence[str] = (), known: Mapping[str, str] | None = None
    ) -> str:
        """Return what a compiled program prints, with these further options of Java and environment variables."""
        of_page = (self.folder / "java-options.txt").read_text(encoding="utf-8").split()
        path = f"{self.folder}{os.pathsep}{self.folder / 'headgate-jdbc'}{os.sep}*"
        command = [self.java, *of_page, *options, "-cp", path, name, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WITHIN, check=False, env=dict(known or {})
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def prepare_programs(folder: Path) -> JavaPrograms:
    """Write the files of the page into a folder and run its script. Raises `ToolchainError` without the compiler."""
    java: Java = find_java(os.environ, print)
    compiler = ensure_jar(COMPILER, java, default_cache(os.environ), default_jars_folder(os.environ), print)
    for _, _, file, body in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        (folder / file).write_text(body, encoding="utf-8")
    copied = ran("sh copy-jars.sh", folder)
    assert copied.returncode == 0, copied.stdout
    return JavaPrograms(java.path, compiler, folder)
