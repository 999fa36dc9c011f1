"""Gateways that tests of this folder share.

One is in front of a guarded Spark; each module also has one in front of a fake driver.
"""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.guarded_gateway import PEOPLE, Guarded, guarded


@pytest.fixture(scope="session")
def spark_behind_gateway(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Serve a guarded Spark until the tests end."""
    with guarded(toolchain, tmp_path_factory.mktemp("spark")) as running:
        running.fill(PEOPLE[:8])
        yield running


@pytest.fixture(scope="module")
def backend() -> Iterator[FakeBackend]:
    """A fake driver for the tests of one module."""
    with fake_backend() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(backend: FakeBackend) -> Iterator[RunningGateway]:
    """A gateway in front of the fake driver, with the tokens of `ann` and `bob`."""
    with running_gateway(backend.driver, "ann", "bob") as running:
        yield running
