"""The life cycle of the driver process.

It ends with its parent, restarts after a crash, and serves only with the guard.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.spark.driver import liveness
from headgate.spark.driver.driver import Driver, DriverError, DriverState
from headgate.spark.toolchain.guard_build import build_guard
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import settings

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

NOWHERE = "http://127.0.0.1:9/guard/v1/decide"
PARENT = """
import asyncio, sys
from pathlib import Path
from headgate.spark.driver.driver import Driver
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import settings

async def main():
    java, iceberg, postgresql, guard, archive, folder = map(Path, sys.argv[1:])
    driver = Driver(settings(Toolchain(java, 17, iceberg, postgresql, guard, archive), folder, "http://127.0.0.1:9/"))
    starting = asyncio.create_task(driver.start())
    while driver.pid is None:
        await asyncio.sleep(0.05)
    print(driver.pid, flush=True)
    await starting
    await asyncio.sleep(600)

asyncio.run(main())
"""


def is_running(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int, seconds: float = 20) -> bool:
    """Return whether the process ends within the time limit."""
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not is_running(pid)


class TestDriver:
    """Start, crash and stop of a driver without a lake."""

    @pytest.mark.soak  # `tests/app/http/test_in_process.py` kills a driver that serves
    def test_a_driver_serves_restarts_after_a_kill_and_stops(self, toolchain: Toolchain, tmp_path: Path) -> None:
        said: list[str] = []

        async def live() -> None:
            again = asyncio.Event()

            def hear(line: str) -> None:
                said.append(line)
                if "serves again" in line:
                    again.set()

            driver = Driver(settings(toolchain, tmp_path, NOWHERE), hear)
            await driver.start()
            assert driver.state is DriverState.SERVING
            first, key, pid = driver.generation, driver.key, driver.pid
            assert pid
            os.kill(pid, signal.SIGKILL)
            async with asyncio.timeout(120):
                await again.wait()
            assert driver.generation > first
            assert driver.key != key
            last = driver.pid
            assert last
            await driver.stop()
            assert driver.state is DriverState.STOPPED
            assert not is_running(last)

        asyncio.run(live())

        assert "exited" in said[0]
        assert "serves again" in said[-1]

    def test_a_driver_that_hangs_is_killed_and_restarted(
        self, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said: list[str] = []
        monkeypatch.setattr(liveness, "_PAUSE", 0.2)
        monkeypatch.setattr(liveness, "_PART", 1.0)

        async def live() -> None:
            driver = Driver(settings(toolchain, tmp_path, NOWHERE), said.append)
            await driver.start()
            await asyncio.sleep(6)  # longer than the timeout of an answer
            first = driver.pid
            assert (driver.generation, driver.is_answering) == (1, True)
            assert first
            os.kill(first, signal.SIGSTOP)
            async with asyncio.timeout(120):
                while driver.generation == 1 or not driver.ready:  # noqa: ASYNC110 (there is no event to wait for)
                    await asyncio.sleep(0.05)
            assert not is_running(first)
            assert (driver.hangs, driver.is_answering) == (1, True)
            await driver.stop()

        asyncio.run(live())

        assert "has not responded for 5 s" in said[0]
        assert "serves again" in said[-1]

    def test_a_driver_without_the_guard_does_not_serve(self, toolchain: Toolchain, tmp_path: Path) -> None:
        """Spark only warns about a jar whose extension it cannot load; the guard probe fails."""
        hollow = tmp_path / "hollow.jar"
        with zipfile.ZipFile(toolchain.guard_jar) as full, zipfile.ZipFile(hollow, "w") as part:
            for name in full.namelist():
                if not name.endswith("GuardExtensions.class"):
                    part.writestr(name, full.read(name))

        async def live() -> None:
            driver = Driver(settings(replace(toolchain, guard_jar=hollow), tmp_path, NOWHERE))
            with pytest.raises(DriverError, match="guard is not active"):
                await driver.start()
            assert driver.pid is None or not is_running(driver.pid)

        asyncio.run(live())

    def test_the_jvm_ends_with_its_killed_parent(self, toolchain: Toolchain, tmp_path: Path) -> None:
        jars = (toolchain.iceberg_jar, toolchain.postgresql_jar, toolchain.guard_jar)
        files = (toolchain.java, *jars, toolchain.class_archive, tmp_path)
        root = Path(__file__).parents[3]
        with subprocess.Popen(
            [sys.executable, "-c", PARENT, *map(str, files)], stdout=subprocess.PIPE, text=True, cwd=root
        ) as parent:
            assert parent.stdout
            jvm = int(parent.stdout.readline())
            assert is_running(jvm)
            parent.kill()

        assert wait_until_gone(jvm)


class TestBuild:
    """The build of the guard's jar, and its cache."""

    def test_the_second_build_comes_from_the_cache(self, toolchain: Toolchain) -> None:
        cache, java = toolchain.guard_jar.parent, Path("/nowhere/java")

        assert build_guard(java, toolchain.iceberg_jar, cache) == toolchain.guard_jar
