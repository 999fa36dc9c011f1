"""The class-data archive of drivers: a file with their parsed classes, with which a driver starts in half the time.

The JVM ignores an archive of another Java or of other jars. It passes the class file of each archived class to the guard's agent,
and uses the agent's class instead if that differs.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.jars import classpath, spark_jars

_FOLDER: Final = "class-archives"
_NAME: Final = "driver.jsa"
_BASE: Final = "java.jsa"
_UNFINISHED: Final = "building-"
_KEPT: Final = 3
"""The number of archives in a cache: each has 240 MB, and each installation of PySpark needs its own."""
_BUILT_WITHIN: Final = 600.0
"""Seconds; the build takes half a minute on an idle machine, and longer at a low priority."""
_ERROR_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class _Builder:
    """The Java that writes archives."""

    java: Path
    niceness: int

    async def run(self, *options: str, archive: Path) -> None:
        """Run Java until it has written the archive. Raises `ToolchainError` with its last lines if it fails or has not.

        A Java that fails may have written an archive of the few classes that it had loaded.
        """
        code, said = await self._run(str(self.java), "-XX:+UseParallelGC", *options)
        self._require_written(archive, code, said)

    def _require_written(self, archive: Path, code: int | None, said: str) -> None:
        if code != 0 or not archive.exists():
            last = "\n".join(said.splitlines()[-_ERROR_LINES:])
            message = f"`{self.java}` did not build the class-data archive `{archive.name}`, so drivers start without it, which takes some seconds more:\n{last}"
            raise ToolchainError(message)

    async def _run(self, *command: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=_environment()
        )
        try:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, process.pid, self.niceness)
            said, _ = await asyncio.wait_for(process.communicate(), _BUILT_WITHIN)
        except TimeoutError:
            return None, f"it did not end within {_BUILT_WITHIN:.0f} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode, said.decode(errors="replace")


def archive_path(java: Path, jars: Sequence[Path], cache: Path) -> Path:
    """Return the path in the cache of the archive for this Java, these jars and Spark's; it may not exist yet."""
    return cache / _FOLDER / _fingerprint(java, jars) / _NAME


async def build_archive(java: Path, jars: Sequence[Path], archive: Path, niceness: int = 0) -> None:
    """Build the archive, and delete the oldest ones. Raises `ToolchainError`.

    `jars` are those of `archive_path`; the first is the guard's. The builder has this niceness, from 0 to 19, as a process.
    """
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _delete_abandoned(archive.parent)
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix=_UNFINISHED) as folder:
            await _build(_Builder(java, niceness), jars, archive, Path(folder))
        _delete_oldest(archive.parent.parent)
    except OSError as error:
        message = f"the class-data archive `{archive}` cannot be built ({error.strerror or error}); drivers start without it, which takes some seconds more"
        raise ToolchainError(message) from error


async def _build(builder: _Builder, jars: Sequence[Path], archive: Path, folder: Path) -> None:
    """Dump Java's own classes, which the bundled Java has no archive of, and then those that a driver uses in addition."""
    base, unfinished, lake = archive.parent / _BASE, folder / _NAME, folder / "lake"
    if not base.exists():
        await builder.run(f"-XX:SharedArchiveFile={folder / _BASE}", "-Xshare:dump", archive=folder / _BASE)
        (folder / _BASE).replace(base)
    await builder.run(
        f"-XX:SharedArchiveFile={base}",
        f"-XX:ArchiveClassesAtExit={unfinished}",
        "-XX:TieredStopAtLevel=1",
        *("-Dio.netty.tryReflectionSetAccessible=true", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
        *("-cp", classpath(jars), "io.headgate.guard.driver.UsedClasses", str(lake), str(jars[0])),
        archive=unfinished,
    )
    unfinished.replace(archive)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_USER": "headgate"}


def _fingerprint(java: Path, jars: Sequence[Path]) -> str:
    """Return a digest of what the JVM compares: its own build, and the name, size and time of each jar."""
    program = java.resolve()
    modules = program.parent.parent / "lib" / "modules"  # missing if the program is a script that starts another Java
    digest = hashlib.sha256()
    for path in (program, modules, *jars, *sorted(spark_jars().glob("*"))):
        with suppress(FileNotFoundError):
            found = path.stat()
            digest.update(f"{path}\n{found.st_size}\n{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:20]


def _delete_abandoned(folder: Path) -> None:
    """Delete what a build has left whose process was killed."""
    for unfinished in folder.glob(f"{_UNFINISHED}*"):
        with suppress(FileNotFoundError):  # its build has ended meanwhile
            if time.time() - unfinished.stat().st_mtime > 2 * _BUILT_WITHIN:
                shutil.rmtree(unfinished, ignore_errors=True)


def _delete_oldest(folder: Path) -> None:
    for old in sorted(_list_built(folder), reverse=True)[_KEPT:]:
        shutil.rmtree(old[1], ignore_errors=True)


def _list_built(folder: Path) -> Iterator[tuple[float, Path]]:
    """Yield the time and the folder of each archive."""
    for archive in folder.glob(f"*/{_NAME}"):
        with suppress(FileNotFoundError):
            yield archive.stat().st_mtime, archive.parent
