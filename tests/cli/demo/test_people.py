"""What the people of the demo hear when a call fails."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from headgate.cli.demo.data import DemoError
from headgate.cli.demo.people import PARTS, AttemptRefusedError, Person
from tests.app.deployment_harness import DeploymentHarness, world_in


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("demo-people")) as opened:
        yield opened


@pytest.fixture
def owner(world: DeploymentHarness) -> Iterator[Person]:
    with closing(Person(PARTS[0], world.tokens["owner"], str(world.http.base_url).rstrip("/"), 0)) as person:
        yield person


def test_a_call_that_fails_raises_the_detail_of_the_problem(owner: Person) -> None:
    with pytest.raises(DemoError, match="`raw` exists already"):
        owner.call("POST", "/databases", {"name": "raw"})


def test_a_refused_call_raises_the_words_of_the_refusal(owner: Person) -> None:
    with pytest.raises(AttemptRefusedError, match="no_such_table"):
        owner.call("GET", "/resources/lake.raw.no_such_table")


def test_ensuring_an_existing_resource_does_nothing(owner: Person) -> None:
    owner.ensure("POST", "/databases", {"name": "raw"})


def test_ensuring_raises_the_detail_of_any_other_problem(owner: Person) -> None:
    with pytest.raises(DemoError, match="a name must have 1 to 255 letters"):
        owner.ensure("POST", "/databases", {"name": "a b"})
