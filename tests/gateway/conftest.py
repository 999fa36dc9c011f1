"""One guarded Spark behind one gateway for all tests of this room that need one."""

from collections.abc import Iterator

import pytest
from guarded import PEOPLE, Guarded, guarded

from headgate.spark.toolchain import Toolchain


@pytest.fixture(scope="session")
def spark_behind_gateway(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Serve until the tests are done."""
    with guarded(toolchain, tmp_path_factory.mktemp("spark")) as running:
        running.fill(PEOPLE[:8])
        yield running
