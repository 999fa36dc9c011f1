"""The making of the demo's lakehouse, on data where an earlier demo was interrupted."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from headgate.cli.demo.people import PARTS, Person
from headgate.cli.demo.world import end_runs
from headgate.facts.ids import ResourceId, RunId
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.fakes.runs import begin

QUERY = {"kind": "query", "name": "delays", "inputs": ["lake.raw.a"], "into": "lake.raw.b", "sql": "SELECT 1"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("demo")) as opened:
        opened.call("owner", "POST", "/resources", {"type": "table", "parent": "lake.raw", "name": "a"})
        yield opened


@pytest.fixture
def owner(world: DeploymentHarness) -> Iterator[Person]:
    with closing(Person(PARTS[0], world.tokens["owner"], str(world.http.base_url).rstrip("/"), 0)) as person:
        yield person


def save(owner: Person) -> ResourceId:
    saved: dict[str, Any] = owner.call("PUT", "/pipelines/delays", QUERY)
    return ResourceId(saved["id"])


def queue(owner: Person) -> RunId:
    return RunId(owner.call("POST", "/pipelines/delays/runs")["run"])


def test_ending_runs_of_a_missing_pipeline_does_nothing(owner: Person) -> None:
    end_runs(owner, "no_such_pipeline")


def test_a_pipeline_can_be_saved_after_its_active_runs_were_ended(world: DeploymentHarness, owner: Person) -> None:
    pipeline, running = save(owner), queue(owner)
    begin(world.deployment.home.control, world.deployment.home.store, running, pipeline)
    waiting = queue(owner)

    end_runs(owner, "delays")

    assert [owner.call("GET", f"/runs/{run}")["state"] for run in (running, waiting)] == ["cancelled", "cancelled"]
    assert save(owner) == pipeline


def test_ending_runs_leaves_ended_runs_unchanged(owner: Person) -> None:
    save(owner)
    run = queue(owner)
    owner.call("POST", f"/runs/{run}/cancel")
    ended = owner.call("GET", f"/runs/{run}")["ended"]

    end_runs(owner, "delays")

    assert owner.call("GET", f"/runs/{run}")["ended"] == ended
