"""One driver and one lake for the tests of this folder that change nothing which another of them is about, and one to strain."""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import DriverHarness, everything_to_the_admin, world


@pytest.fixture(scope="session")
def running(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    """Return the world, for as long as the tests run."""
    with world(toolchain, tmp_path_factory.mktemp("guard")) as made:
        yield made


@pytest.fixture(scope="session")
def strained(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    """Return a world of its own for statements that fill a driver's memory or take its time."""
    with world(toolchain, tmp_path_factory.mktemp("strained")) as made:
        yield made


@pytest.fixture
def strained_lake(strained: DriverHarness) -> Iterator[DriverHarness]:
    """Return that world, with the rule that it has by default."""
    with strained.end_sessions():
        yield strained
    strained.decisions.rule = everything_to_the_admin


@pytest.fixture
def lake(running: DriverHarness) -> Iterator[DriverHarness]:
    """Return the world with nothing asked yet, and with the rule that it has by default."""
    running.decisions.asked.clear()
    running.decisions.operations.clear()
    with running.end_sessions():
        yield running
    running.decisions.rule = everything_to_the_admin
    running.decisions.is_down = False
