"""Servers with a Spark driver: one that tests of this folder share, and one for the tests of a module."""

from collections.abc import Iterator

import pytest
from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.server import Server
from headgate.app.settings.settings import Settings
from headgate.spark.toolchain.prepare import Toolchain, default_cache
from tests.journeys.served_lake import ServedLake, serve_lake


@pytest.fixture(scope="session")
def server(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve SQL over HTTP until the tests end; a module leaves the access model of the organization as it found it."""
    assert toolchain.guard_jar.exists()
    folder = tmp_path_factory.mktemp("sql") / "data"
    settings = Settings(folder, default_cache({}), None, api_port=0, gateway_port=0, spark_organizations=("*",))
    with run_in_background(settings, print) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedLake]:
    """Serve a lake to the tests of one module."""
    assert toolchain.guard_jar.exists()
    with serve_lake(tmp_path_factory.mktemp("lake") / "data") as opened:
        yield opened


@pytest.fixture
def spark(served: ServedLake) -> SparkSession:
    """Return the owner's Spark session."""
    return served.owner.spark
