"""What Spark needs: Java, the Iceberg jar and the guard."""

from collections.abc import Iterator, Mapping

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.guard_build import guard_jar
from headgate.spark.toolchain.jars import ICEBERG, POSTGRESQL, cached_path
from headgate.spark.toolchain.java import find_java

_MAKE = "`headgate setup` gets it ready, or the next start does"


def tools(settings: Settings, environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look whether Spark could be started now, where it is wanted."""
    if not settings.spark:
        yield Finding("Spark", "ok", "is not wanted (HEADGATE_SPARK=0)")
        return
    passed_over: list[str] = []
    try:
        java = find_java(environ, passed_over.append)
    except ToolchainError as error:
        yield build_failure("Java", str(error), "install it")
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
