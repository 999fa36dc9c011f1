"""One deployment with Spark for every test of this folder that executes runs; each test uses tables of its own."""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.pipelines.drop_folder import Drop
from tests.pipelines.spark_deployment import ByHand, by_hand


@pytest.fixture(scope="session")
def lake(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByHand]:  # noqa: ARG001 (without it the tests are skipped)
    """Return the deployment, with the databases `lake.raw` and `lake.trusted`."""
    with by_hand(tmp_path_factory.mktemp("pipelines") / "data") as made:
        yield made


@pytest.fixture(scope="session")
def drop(lake: ByHand, tmp_path_factory: pytest.TempPathFactory) -> Drop:
    """Return the deployment with a connection `drop` to a folder."""
    folder = tmp_path_factory.mktemp("drop")
    lake.owner.call("POST", "/connections", {"name": "drop", "folder": str(folder)})
    return Drop(lake, folder)
