"""Spark Connect with Iceberg and without Headgate: the cost of a statement without Headgate."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql.connect.session import SparkSession

from headgate.spark.sql.client import connect
from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain

_PATIENCE = 600.0
_OPENED = (
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent "
    "java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar"
)


@contextmanager
def plain_spark(tools: Toolchain, folder: Path, lake: Mapping[str, str]) -> Iterator[SparkSession]:
    """Run a driver like Headgate's, but without Headgate, until the block ends; `lake` has the settings of the catalog that differ."""
    with plain_server(tools, folder, lake) as (port, token):
        session = connect(port, token)
        yield session
        session.client.close()


@contextmanager
def plain_server(
    tools: Toolchain, folder: Path, conf: Mapping[str, str], jars: Sequence[Path] = ()
) -> Iterator[tuple[int, str]]:
    """Run the driver of `plain_spark` with additional settings and jars until the block ends; yield its port and its token."""
    folder.mkdir(parents=True, exist_ok=True)
    port, token = _free_port(), secrets.token_urlsafe(16)
    command = _command(tools, jars, _conf(folder, conf) | _listening(port, token))
    python = {"SPARK_HOME": str(spark_jars().parent), "PYSPARK_PYTHON": sys.executable}
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **python}
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
    try:
        _wait_for(port, process, folder / "driver.log")
        yield port, token
    finally:
        process.terminate()
        process.wait()


def _conf(folder: Path, lake: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of Headgate's driver, except for the part about Headgate."""
    return {
        "spark.master": "local[*]",
        "spark.app.name": "plain",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "unused"),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.artifact.isolation.enabled": "true",
        **lake,
    }


def _listening(port: int, token: str) -> dict[str, str]:
    return {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.authenticate.token": token,
    }


def _command(tools: Toolchain, jars: Sequence[Path], conf: Mapping[str, str]) -> list[str]:
    return [
        str(tools.java),
        "-Xmx1g",
        "-XX:+UseParallelGC",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED.split()),
        "-cp",
        os.pathsep.join((str(tools.iceberg_jar), *map(str, jars), f"{spark_jars()}{os.sep}*")),
        "org.apache.spark.deploy.SparkSubmit",
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"Spark without Headgate did not start:\n{last_lines(log)}")


def last_lines(log: Path) -> str:
    """Return the end of a log, whose folder is deleted after the run."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
