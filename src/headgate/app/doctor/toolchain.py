"""Checks the files that Spark needs: Java, the Iceberg jar, the PostgreSQL jar and the guard."""

from collections.abc import Iterator, Mapping

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.guard_build import guard_jar
from headgate.spark.toolchain.jars import ICEBERG, POSTGRESQL, cached_path
from headgate.spark.toolchain.java import find_java

_MAKE = "run `headgate setup`, or let the next `headgate serve` prepare it"


def tools(settings: Settings, environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that Spark could be started now, if it is enabled."""
    if not settings.spark:
        yield Finding("Spark", "ok", "disabled (HEADGATE_SPARK=0)")
        return
    passed_over: list[str] = []
    try:
        java = find_java(environ, passed_over.append)
    except ToolchainError as error:
        yield build_failure("Java", str(error), "install a Java version that Spark supports")
    else:
        yield Finding("Java", "ok", "; ".join((str(java), *passed_over)))
    iceberg = cached_path(ICEBERG, settings.cache)
    postgresql = cached_path(POSTGRESQL, settings.cache)
    for what, jar in (
        ("Iceberg jar", iceberg),
        ("PostgreSQL jar", postgresql),
        ("guard", guard_jar(iceberg, settings.cache)),
    ):
        if jar.is_file():
            yield Finding(what, "ok", f"`{jar.name}` is in the cache")
        else:
            yield warning(what, f"`{jar.name}` is not in the cache `{settings.cache}`", _MAKE)
