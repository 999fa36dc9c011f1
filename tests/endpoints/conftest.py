"""One deployment for all nouns of the API; each test has organizations of its own in it."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.app.deployment_harness import Place, World, world_in

Make = Callable[..., Place]
"""Makes an organization of a model, with or without the model of an ownership tree next to it."""


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("api")) as opened:
        yield opened


@pytest.fixture(scope="session")
def make(world: World) -> Make:
    numbers = count()

    def made(model: str = "nekt", tree: str | None = None) -> Place:
        return world.organization(f"acme-{next(numbers)}", model, tree)

    return made
