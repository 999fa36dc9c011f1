"""One deployment for all tests of the API; each test creates organizations of its own in it."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in

Make = Callable[..., OrganizationClient]
"""Creates an organization of a model, optionally with the model of an ownership tree."""


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("api")) as opened:
        yield opened


@pytest.fixture(scope="session")
def make(world: DeploymentHarness) -> Make:
    numbers = count()

    def made(model: str = "nekt", tree: str | None = None) -> OrganizationClient:
        return world.organization(f"acme-{next(numbers)}", model, tree)

    return made
