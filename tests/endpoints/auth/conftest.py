"""One server for all tests of the endpoints for logins."""

from collections.abc import Iterator

import httpx
import pytest

from tests.endpoints.auth.auth_harness import AuthHarness, Front
from tests.endpoints.auth.provider import Doorway, doorway
from tests.threads import served


@pytest.fixture(scope="session")
def front() -> Iterator[Front]:
    found = Front()
    with served(found) as url:  # pyright: ignore[reportArgumentType] (any application will do)
        found.url = url
        yield found


@pytest.fixture
def http(front: Front, world: AuthHarness) -> Iterator[httpx.Client]:
    with front.serving(world) as client:
        yield client


@pytest.fixture(scope="session")
def providers() -> Iterator[Doorway]:
    with doorway() as found:
        yield found
