"""The published jars of the comparison, fetched into the cache by a client of the Maven repositories; none of them is committed.

Maven fetches them if it is installed, because it knows the mirrors of the machine; or else Ivy, which is among Spark's jars.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder

_GIVE_UP_AFTER = 600
_MAVEN_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_IVY_MODULE: Final = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="headgate" module="compatibility"/>
<dependencies><dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false">
<artifact name="{jar.artifact}" type="jar" ext="jar"{classifier}/></dependency></dependencies></ivy-module>
"""


class JarError(Exception):
    """A jar of the comparison is not available; the message names the next step."""


@dataclass(frozen=True, slots=True)
class SuiteJar:
    """A published jar: its Maven coordinates, and the checksum that its bytes must have."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The published file name."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def coordinates(self) -> str:
        """The Maven coordinates, with the type only where a classifier follows."""
        return ":".join(
            (self.group, self.artifact, self.version, *(("jar", self.classifier) if self.classifier else ()))
        )


SPARK_TESTS: Final = SuiteJar(
    *("org.apache.spark", "spark-sql_2.13", "4.1.3", "tests"),
    "e3302864af66035c2dd22fda0d980e72a456ef39531bcbcaef320886622bac14",
)
"""The inputs of Spark's SQL tests, and the queries of TPC-DS, TPC-H and SSB. The jar of 4.1.4 is not published."""
SPARK_TEST_SOURCES: Final = SuiteJar(
    *("org.apache.spark", "spark-sql_2.13", "4.1.3", "test-sources"),
    "42969207b7da9abfde0b060090482757beccd3a10bcf70a125bd887625026caf",
)
"""The sources of Spark's tests, which name the columns of the tables of TPC-DS and TPC-H."""
SQLITE_JDBC: Final = SuiteJar(
    *("org.xerial", "sqlite-jdbc", "3.46.1.3", ""), "4a4832720a65eaf7f4d6fd7ede52087b994dc5633c076f9e994dc0c8b4b0b4fa"
)
"""The driver with which the catalog of plain Spark stores its tables."""


@dataclass(frozen=True, slots=True)
class SuiteJars:
    """The paths of the jars."""

    tests: Path
    sources: Path
    sqlite: Path


def fetch_suite_jars(java: Path, say: Callable[[str], None]) -> SuiteJars:
    """Return the jars in the cache; fetch the missing ones. Raises `JarError`."""
    folder, given = default_cache(os.environ) / "jars", default_jars_folder(os.environ)
    return SuiteJars(
        *(ensure_suite_jar(each, java, folder, given, say) for each in (SPARK_TESTS, SPARK_TEST_SOURCES, SQLITE_JDBC))
    )


def ensure_suite_jar(jar: SuiteJar, java: Path, folder: Path, given: Path | None, say: Callable[[str], None]) -> Path:
    """Return a jar in `folder`; if it is missing, copy it from the folder `given`, or else fetch it. Raises `JarError`."""
    placed = folder / jar.file_name
    if placed.is_file() and _sha256(placed) == jar.sha256:
        return placed
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as scratch:
        found = given / jar.file_name if given else _fetch(jar, java, Path(scratch), say)
        if not found.is_file():
            raise JarError(f"`{found}` does not exist; add the file, or unset HEADGATE_JARS to fetch it")
        if (actual := _sha256(found)) != jar.sha256:
            raise JarError(
                f"the SHA-256 of `{jar.file_name}` is {actual} and should be {jar.sha256}; do not use the file"
            )
        partial = Path(scratch) / "verified.jar"
        shutil.copyfile(found, partial)
        partial.replace(placed)
    return placed


def _fetch(jar: SuiteJar, java: Path, scratch: Path, say: Callable[[str], None]) -> Path:
    maven = shutil.which("mvn")
    say(f"fetching {jar.coordinates} with {'Maven' if maven else 'Ivy'}")
    command = _maven_command(maven, jar, scratch) if maven else _ivy_command(java, jar, scratch)
    log, found = scratch / "fetch.log", scratch / "fetched" / jar.file_name
    try:
        with log.open("wb") as output:
            subprocess.run(command, cwd=scratch, stdout=output, stderr=output, timeout=_GIVE_UP_AFTER, check=False)
    except subprocess.TimeoutExpired:
        raise JarError(f"`{jar.file_name}` was not fetched within {_GIVE_UP_AFTER} s; check the network") from None
    if not found.is_file():
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
        raise JarError(
            f"`{jar.file_name}` cannot be fetched; check the network, or get {jar.coordinates} in another way and set "
            f"HEADGATE_JARS to its folder: {' '.join(last)}"
        )
    return found


def _maven_command(maven: str, jar: SuiteJar, scratch: Path) -> Sequence[str]:
    into = f"-DoutputDirectory={scratch / 'fetched'}"
    return [maven, "--quiet", "--batch-mode", _MAVEN_COPY, f"-Dartifact={jar.coordinates}", into]


def _ivy_command(java: Path, jar: SuiteJar, scratch: Path) -> Sequence[str]:
    """Return a call of Ivy: Spark's own `--packages` knows no classifiers."""
    classifier = f' m:classifier="{jar.classifier}"' if jar.classifier else ""
    module, name = scratch / "ivy.xml", f"[artifact]-[revision]{'-[classifier]' if jar.classifier else ''}.[ext]"
    module.write_text(_IVY_MODULE.format(jar=jar, classifier=classifier), encoding="utf-8")
    return [
        *(str(java), "-cp", f"{spark_jars()}{os.sep}*", "org.apache.ivy.Main", "-ivy", str(module)),
        *("-cache", str(scratch / "ivy"), "-retrieve", str(scratch / "fetched" / name)),
    ]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
