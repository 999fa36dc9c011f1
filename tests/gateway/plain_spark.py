"""A Spark Connect server without the guard, for tests of the gateway alone."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_OPENS = (
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent "
    "java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar"
)


@dataclass
class RunningDriver:
    """What the gateway asks of a driver, for a server that is up."""

    address: str
    token: str
    name: str = "main"
    key: bytes = b"k" * 32
    generation: int = 1
    ready: bool = True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command(java: str, port: int, token: str) -> list[str]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    jars = Path(spec.origin).parent / "jars" / "*"
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.authenticate.token": token,
        "spark.sql.artifact.isolation.enabled": "true",
    }
    return [
        java,
        "-Xmx1g",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS.split()),
        "-cp",
        str(jars),
        "org.apache.spark.deploy.SparkSubmit",
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


@contextmanager
def plain_spark(folder: Path, java: str) -> Iterator[RunningDriver]:
    """Run a server with its files in the folder until the block ends."""
    port, token = _free_port(), secrets.token_urlsafe(16)
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(_command(java, port, token), cwd=folder, env=environ, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield RunningDriver(f"127.0.0.1:{port}", token)
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the Spark server did not start; see driver.log")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the Spark server did not listen within a minute; see driver.log")
