"""Build of the guard: compiles its Scala sources and packs them with the lists into one jar, using PySpark's Scala compiler."""

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from headgate.control.catalog.table_properties import LISTS
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.jars import spark_jars

SOURCES = Path(__file__).parents[1] / "guard"
_COMPILE_WITHIN = 300
_ERROR_LINES = 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_guard(java: Path, iceberg_jar: Path, cache: Path) -> Path:
    """Return the guard's jar from the cache; build it first if the cache has none for these sources, Spark and Iceberg.

    Raises `ToolchainError` with the compiler's output if the sources do not compile.
    """
    jar = guard_jar(iceberg_jar, cache)
    if jar.exists():
        return jar
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="guard-") as folder:
        classes, unfinished = Path(folder, "classes"), Path(folder, "guard.jar")
        classes.mkdir()
        _compile(java, iceberg_jar, classes)
        _pack(unfinished, _list_jar_contents(classes))
        unfinished.replace(jar)
    return jar


def guard_jar(iceberg_jar: Path, cache: Path) -> Path:
    """Return the path in the cache of the guard's jar for these sources, this Spark and this Iceberg."""
    return cache / f"headgate-guard-{_fingerprint(iceberg_jar)}.jar"


def _fingerprint(iceberg_jar: Path) -> str:
    digest = hashlib.sha256(f"{version('pyspark')}\n{iceberg_jar.name}\n".encode())
    sources = [*((path.relative_to(SOURCES), path) for path in _files(SOURCES)), *_shared()]
    for name, path in sources:
        digest.update(f"{name.as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def _compile(java: Path, iceberg_jar: Path, classes: Path) -> None:
    classpath = os.pathsep.join((f"{spark_jars()}{os.sep}*", str(iceberg_jar)))
    scala = [str(path) for path in _files(SOURCES / "scala")]
    command = [str(java), "-cp", classpath, "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(classes), *scala]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_WITHIN, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"the guard, Headgate's plug-in for Spark, cannot be compiled with `{java}` ({error}); set JAVA_HOME to another Java"
        raise ToolchainError(message) from error
    if done.returncode != 0:
        said = "\n".join((done.stdout or done.stderr).splitlines()[:_ERROR_LINES])
        message = f"the guard, Headgate's plug-in for Spark, does not compile for PySpark {version('pyspark')} and `{iceberg_jar.name}`; install the versions that Headgate requires:\n{said}"
        raise ToolchainError(message)


def _list_jar_contents(classes: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the entries of the jar: the name in it, and the file."""
    for folder in (classes, SOURCES / "resources"):
        yield from ((path.relative_to(folder), path) for path in _files(folder))
    yield from _shared()


def _shared() -> Iterator[tuple[Path, Path]]:
    """Yield the lists that the Python packages also read, in addition to the guard's own lists."""
    yield from (("headgate" / path.relative_to(LISTS), path) for path in _files(LISTS))


def _pack(jar: Path, files: Iterable[tuple[Path, Path]]) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files:
            entry = zipfile.ZipInfo(name.as_posix(), _EPOCH)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))
