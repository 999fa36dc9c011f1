"""One deployment with Spark for the tests that each have a table of their own in it."""

from collections.abc import Iterator

import pytest

from tests.pipelines.by_hand import by_hand
from tests.pipelines.dropping import Drop


@pytest.fixture(scope="session")
def drop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drop]:
    """Return the deployment with a connection `drop` to a folder."""
    folder = tmp_path_factory.mktemp("drop")
    with by_hand(tmp_path_factory.mktemp("dropped") / "data", ("raw",)) as lake:
        lake.owner.call("POST", "/connections", {"name": "drop", "folder": str(folder)})
        yield Drop(lake, folder)
