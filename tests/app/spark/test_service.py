"""The background work of the service that starts Spark."""

import asyncio
from pathlib import Path

import pytest

from headgate.app.spark import service
from headgate.app.spark.service import start_archive_build
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.prepare import Toolchain

TOOLS = Toolchain(Path("/java"), 17, Path("/iceberg"), Path("/postgresql"), Path("/guard"), Path("/classes"))


async def run_build(said: list[str]) -> None:
    tasks = BackgroundTasks(waits=(0.01,))
    start_archive_build(tasks, TOOLS, said.append)
    await asyncio.sleep(0.1)


def test_a_failed_build_of_the_class_data_archive_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ToolchainError("the disk is full")

    monkeypatch.setattr(service, "build_archive", fail)
    said = list[str]()

    asyncio.run(run_build(said))

    assert said == ["the disk is full"]


def test_the_class_data_archive_is_built_again_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[int]()

    async def build(*arguments: object) -> None:
        built.append(len(arguments))
        if len(built) == 1:
            raise ZeroDivisionError("unexpected")

    monkeypatch.setattr(service, "build_archive", build)

    asyncio.run(run_build([]))

    assert len(built) == 2
