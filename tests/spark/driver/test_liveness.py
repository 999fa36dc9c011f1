"""Liveness: a driver that runs and does not answer is restarted; a driver that answers late keeps running."""

import asyncio
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest
from typing_extensions import override

from headgate.control.kernel.supervision import BackgroundTasks
from headgate.spark.driver import driver as driver_module
from headgate.spark.driver import liveness as liveness_module
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import DriverSettings
from headgate.spark.driver.driver import Driver
from headgate.spark.driver.ports import DriverPorts, SessionPorts
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend

PART = 0.1
PARTS = 5


class OnePort(SessionPorts):
    """A pool of ports that gives every driver the port of the fake."""

    def __init__(self, port: int) -> None:
        self._port = port

    @override
    def take(self) -> DriverPorts:
        """Return the port of the fake, and two unused ports."""
        return DriverPorts(self._port, 1, 2)

    @override
    def release(self, ports: DriverPorts) -> None:
        """Do nothing: the pool has only one port."""


class Scene:
    """A driver whose process sleeps, and a fake that answers at its port."""

    def __init__(self, backend: FakeBackend) -> None:
        self.backend = backend
        self.said = list[str]()
        nowhere = Path("/nowhere")
        tools = Toolchain(nowhere, 17, nowhere, nowhere, nowhere, nowhere)
        settings = DriverSettings(tools, nowhere, nowhere, "", cluster=Cluster("embedded"))
        ports = OnePort(int(backend.driver.address.rpartition(":")[2]))
        self.driver = Driver(settings, self.said.append, BackgroundTasks(), ports)

    def asks(self) -> int:
        """Return the number of requests to the driver."""
        return self.backend.names().count("Config")

    def play(self, story: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run the steps of a test between the start and the end of the driver."""

        async def whole() -> None:
            await self.driver.start()
            try:
                await story()
            finally:
                await self.driver.stop()

        asyncio.run(whole())


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    async def is_good(*_: object) -> None:
        return

    async def spawn(_: Driver) -> Process:
        return await create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")

    with fake_backend() as backend:
        monkeypatch.setattr(liveness_module, "_PART", PART)
        monkeypatch.setattr(liveness_module, "_PARTS", PARTS)
        monkeypatch.setattr(liveness_module, "_PAUSE", 0.01)
        monkeypatch.setattr(driver_module, "_BACK_OFF", (0.01,))
        monkeypatch.setattr(driver_module, "require_token_enforced", is_good)
        monkeypatch.setattr(driver_module, "require_guarded", is_good)
        monkeypatch.setattr(Driver, "_spawn", spawn)
        yield Scene(backend)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0.01)


class TestADriver:
    def test_a_driver_that_answers_is_probed_repeatedly_with_its_token(self, scene: Scene) -> None:
        async def story() -> None:
            await until(lambda: scene.asks() > 5)
            assert scene.driver.is_answering

        scene.play(story)

        assert (scene.driver.generation, scene.driver.hangs, scene.said) == (1, 0, [])
        assert scene.backend.metadata[-1]["authorization"] == f"Bearer {scene.driver.token}"
        assert len({request.session_id for name, request in scene.backend.calls if name == "Config"}) == 1

    def test_a_driver_that_accepts_connections_and_never_answers_is_restarted(self, scene: Scene) -> None:
        async def story() -> None:
            scene.backend.held_configs = True
            first = scene.driver.pid
            await until(lambda: not scene.driver.is_answering)
            assert scene.driver.pid == first
            await until(lambda: scene.driver.hangs == 1)
            scene.backend.held_configs = False
            await until(lambda: scene.driver.generation == 2 and scene.driver.ready)
            assert scene.driver.pid not in (None, first)
            assert scene.driver.is_answering

        scene.play(story)

        assert scene.said[0].startswith("the Spark driver `main` has not responded for")
        assert "serves again" in scene.said[-1]

    def test_a_driver_with_a_closed_port_is_ended(self, scene: Scene) -> None:
        async def story() -> None:
            scene.backend.die()
            await until(lambda: scene.driver.hangs == 1)

        scene.play(story)

    def test_a_driver_that_answers_late_once_is_not_ended(self, scene: Scene) -> None:
        async def story() -> None:
            scene.backend.held_configs = True
            await until(lambda: not scene.driver.is_answering)
            await asyncio.sleep(PART)
            scene.backend.held_configs = False
            scene.backend.go_on.set()
            await until(lambda: scene.driver.is_answering)
            await asyncio.sleep(PART * PARTS)

        scene.play(story)

        assert (scene.driver.generation, scene.driver.hangs) == (1, 0)

    def test_a_driver_that_answers_late_for_long_is_ended_and_restarted(self, scene: Scene) -> None:
        async def story() -> None:
            scene.backend.config_seconds = PART * 2.5
            await until(lambda: scene.driver.hangs == 1)
            scene.backend.config_seconds = 0.0
            await until(lambda: scene.driver.generation == 2 and scene.driver.ready)

        scene.play(story)

        assert "has responded only late, by 2 s in total" in scene.said[0]

    def test_a_driver_with_a_large_heap_has_more_time_for_a_garbage_collection(self, scene: Scene) -> None:
        scene.backend.config_seconds = 60 * PART

        why = asyncio.run(liveness_module.Liveness(scene.backend.driver.address, "", 64 * 1024).wait_until_stuck())

        assert why == "has not responded for 2 s"
