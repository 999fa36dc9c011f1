"""Two drivers, each with a lake, that tests share.

One is for tests that leave nothing behind which another test is about, the other for tests under load.
"""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import DriverHarness, everything_to_the_admin, world


@pytest.fixture(scope="session")
def running(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    """Return the shared driver with its lake, for the whole test run."""
    with world(toolchain, tmp_path_factory.mktemp("guard")) as made:
        yield made


@pytest.fixture(scope="session")
def strained(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    """Return a separate driver for statements that fill a driver's memory or use its time."""
    with world(toolchain, tmp_path_factory.mktemp("strained")) as made:
        yield made


@pytest.fixture
def strained_lake(strained: DriverHarness) -> Iterator[DriverHarness]:
    """Return the driver for tests under load, with the default rule of its decision service."""
    with strained.end_sessions():
        yield strained
    strained.decisions.rule = everything_to_the_admin


@pytest.fixture
def lake(running: DriverHarness) -> Iterator[DriverHarness]:
    """Return the shared driver with its default rule, and without recorded requests."""
    running.decisions.asked.clear()
    running.decisions.operations.clear()
    with running.end_sessions():
        yield running
    running.decisions.rule = everything_to_the_admin
    running.decisions.is_down = False
