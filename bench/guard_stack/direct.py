"""Two drivers that are called directly, without gateway and catalog server: Spark with the guard and Spark without it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.plain_spark import plain_spark
from bench.guard_stack.statements import DATABASE, TABLES
from headgate.spark.driver.config import DriverSettings
from headgate.spark.driver.driver import Driver
from headgate.spark.sessions.signature import sign_session
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain

_ROOT = Path(__file__).resolve().parents[2]
_LAKE = "spark.sql.catalog.lake"


class Sides(NamedTuple):
    """A session without the guard and one with it, over the same folder of Iceberg tables."""

    plain: SparkSession
    guarded: SparkSession


class _Decisions(NamedTuple):
    """The deciding process, with its port, token and session."""

    process: subprocess.Popen[str]
    port: int
    handle: str


@contextmanager
def direct(tools: Toolchain, folder: Path) -> Iterator[Sides]:
    """Run both drivers, and the deciding process of the guard, until the block ends."""
    warehouse = folder / "warehouse"
    lake = {f"{_LAKE}.type": "hadoop", f"{_LAKE}.warehouse": str(warehouse)}
    with plain_spark(tools, folder / "plain", lake) as plain, _decisions(folder / "data") as decisions:
        (warehouse / DATABASE).mkdir(parents=True)
        for name, query in TABLES.items():
            plain.sql(f"CREATE TABLE lake.{DATABASE}.{name} AS {query}")
        settings = DriverSettings(
            tools=tools,
            log=folder / "guarded.log",
            scratch=folder / "scratch",
            decision_url=f"http://127.0.0.1:{decisions.port}/guard/v1/decide",
            conf={**lake, **_contained(warehouse)},
        )
        with _guarded(settings, decisions) as guarded:
            yield Sides(plain, guarded)


def _contained(warehouse: Path) -> dict[str, str]:
    """Return the settings with which the guard keeps tables inside a folder; the REST catalog sets this for each table."""
    return {f"{_LAKE}.io-impl": "io.headgate.guard.files.GuardedFileIO", f"{_LAKE}.headgate.location": str(warehouse)}


@contextmanager
def _guarded(settings: DriverSettings, decisions: _Decisions) -> Iterator[SparkSession]:
    """Start the driver and open a session that is signed for the owner's handle, as the gateway does."""
    driver = Driver(settings)
    with asyncio.Runner() as runner:
        runner.run(driver.start())
        try:
            _tell(decisions.process, driver.key.hex())
            session = connect(int(driver.address.rpartition(":")[2]), driver.token)
            session.conf.set("headgate.principal.token", sign_session(driver.key, decisions.handle))
            yield session
            session.client.close()
        finally:
            runner.run(driver.stop())


@contextmanager
def _decisions(folder: Path) -> Iterator[_Decisions]:
    """Start the deciding process, and create the tables as its resources."""
    command = (sys.executable, "-m", "bench.guard_stack.deciding", str(folder))
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = json.loads((process.stdout and process.stdout.readline()) or "{}")
            if not said:
                raise RuntimeError("the process that decides did not start")
            _name_tables(f"http://127.0.0.1:{said['port']}/api/v1", said["token"])
            yield _Decisions(process, said["port"], said["handle"])
        finally:
            process.terminate()


def _name_tables(url: str, token: str) -> None:
    """Create resources for the tables: the owner may then read them, and the guard requests decisions on them."""
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as client:
        client.post(f"{url}/databases", json={"name": DATABASE}).raise_for_status()
        for name in TABLES:
            table = {"type": "table", "parent": f"lake.{DATABASE}", "name": name}
            client.post(f"{url}/resources", json=table).raise_for_status()


def _tell(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin is None:
        raise RuntimeError("the deciding process has no standard input for the driver's key")
    process.stdin.write(line + "\n")
    process.stdin.flush()
