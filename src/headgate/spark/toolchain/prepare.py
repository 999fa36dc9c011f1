"""Preparation of the toolchain: Java, the additional jars and the compiled guard, all required to start Spark."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate.spark.toolchain.class_archive import archive_path
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.guard_build import build_guard
from headgate.spark.toolchain.jars import ICEBERG, POSTGRESQL, ensure_jar
from headgate.spark.toolchain.java import find_java


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The files that the start of a driver requires."""

    java: Path
    java_version: int
    iceberg_jar: Path
    postgresql_jar: Path
    guard_jar: Path
    class_archive: Path
    """The path of the class-data archive of drivers, which is built only after the first one has started."""

    @property
    def jars(self) -> tuple[Path, ...]:
        """The jars on the class path of a driver in addition to Spark's own."""
        return self.guard_jar, self.iceberg_jar, self.postgresql_jar


def prepare(cache: Path, jars_folder: Path | None, say: Callable[[str], None]) -> Toolchain:
    """Return the toolchain; download and compile the files that the cache does not contain yet.

    Raises `ToolchainError`, whose message says what to do.
    """
    java = find_java(os.environ, say)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        iceberg_jar = ensure_jar(ICEBERG, java, cache, jars_folder, say)
        postgresql_jar = ensure_jar(POSTGRESQL, java, cache, jars_folder, say)
        guard_jar = build_guard(java.path, iceberg_jar, cache)
        class_archive = archive_path(java.path, (guard_jar, iceberg_jar, postgresql_jar), cache)
    except OSError as error:
        message = (
            f"the cache folder `{cache}` cannot be used: {error.strerror or error} (`{error.filename or cache}`); "
            "free disk space or grant access, or set HEADGATE_CACHE to another folder"
        )
        raise ToolchainError(message) from error
    return Toolchain(java.path, java.version, iceberg_jar, postgresql_jar, guard_jar, class_archive)


def default_cache(environ: Mapping[str, str]) -> Path:
    """Return the cache folder, whose content can be recreated: `HEADGATE_CACHE`, or else a folder in the home folder."""
    named = environ.get("HEADGATE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "headgate"


def default_jars_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder from which jars are copied instead of downloaded: `HEADGATE_JARS`, or None."""
    named = environ.get("HEADGATE_JARS")
    return Path(named) if named else None
