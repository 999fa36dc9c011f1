"""Operators upgrade and change the access models of an organization over the API."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.control.models.model_files import harbour
from tests.endpoints.api.operations.operators import log_in_operator
from tests.endpoints.api.resources.test_organizations import asked, login

HERE = "/api/v1/deployment"
_NUMBERS = count()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("models")) as opened:
        yield opened


@pytest.fixture(scope="module")
def operator(world: DeploymentHarness) -> str:
    """The session of an operator, who has installed two versions of the model `harbour`."""
    secret = log_in_operator(world)
    for source in (harbour(1), harbour(2, "insert")):
        assert asked(world, secret, "POST", f"{HERE}/models", {"source": source}).status_code == 201
    return secret


@pytest.fixture
def port(world: DeploymentHarness, operator: str) -> OrganizationClient:
    """An organization under the first version of `harbour`, with a table and a user who may read it."""
    place = world.organization(f"port-{next(_NUMBERS)}", "harbour")
    assert confirmed(world, operator, place, {"model": "harbour", "version": 1}).status_code == 200
    north = place.create("/databases", {"name": "north"})
    cargo = place.create("/resources", {"type": "table", "parent": north, "name": "grain"})
    place.add("ben", "docker", cargo)
    return place


def change(
    world: DeploymentHarness, secret: str, place: OrganizationClient, body: dict[str, Any], query: str = ""
) -> Any:
    return asked(world, secret, "PUT", f"{HERE}/organizations/{place.opened.id}/model{query}", body)


def confirmed(world: DeploymentHarness, secret: str, place: OrganizationClient, body: dict[str, Any]) -> Any:
    """Send a change with the confirmation of its dry run."""
    confirmation = change(world, secret, place, body, "?dry_run=true").json()["confirmation"]
    return change(world, secret, place, {**body, "confirmation": confirmation})


def test_a_dry_run_counts_the_decisions_that_an_upgrade_changes(
    world: DeploymentHarness, operator: str, port: OrganizationClient
) -> None:
    answer = change(world, operator, port, {"model": "harbour"}, "?dry_run=true")

    found = answer.json()
    assert answer.status_code == 200, answer.text
    assert found["decisions"] == [{"action": "table.insert", "lost": 0, "gained": 2, "principals": 2}]
    assert (found["model_version"], found["lost_assignments"], found["pipelines_that_break"]) == (2, [], 0)
    assert "ben" not in answer.text
    assert port.result("owner", "GET", "/models/harbour")["version"] == 1


def test_a_confirmed_upgrade_decides(world: DeploymentHarness, operator: str, port: OrganizationClient) -> None:
    unconfirmed = change(world, operator, port, {"model": "harbour"})
    confirmation = change(world, operator, port, {"model": "harbour"}, "?dry_run=true").json()["confirmation"]

    done = change(world, operator, port, {"model": "harbour", "confirmation": confirmation})
    assert (unconfirmed.status_code, confirmation in unconfirmed.text) == (409, True)
    assert (done.status_code, done.json()["id"]) == (200, port.opened.id)
    assert port.result("owner", "GET", "/models/harbour")["version"] == 2


def test_the_audit_of_the_organization_shows_the_upgrade(
    world: DeploymentHarness, operator: str, port: OrganizationClient
) -> None:
    confirmed(world, operator, port, {"model": "harbour"})

    commands = [each["command"] for each in port.result("owner", "GET", "/audit?limit=500")["items"]]
    assert commands[-1] == "model.upgrade"


def test_a_model_that_is_not_installed_is_refused(
    world: DeploymentHarness, operator: str, port: OrganizationClient
) -> None:
    answer = change(world, operator, port, {"model": "nosuch"}, "?dry_run=true")

    assert (answer.status_code, "`nosuch` is not installed; choose from" in answer.text) == (422, True)


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_another_user_of_the_deployment_is_refused(
    world: DeploymentHarness, port: OrganizationClient, query: str
) -> None:
    secret = login(world, f"ned{next(_NUMBERS)}")

    assert change(world, secret, port, {"model": "harbour"}, query).status_code == 403


def test_an_unknown_organization_is_missing_to_an_operator(world: DeploymentHarness, operator: str) -> None:
    answer = asked(world, operator, "PUT", f"{HERE}/organizations/nosuch/model", {"model": "harbour"})

    assert answer.status_code == 404
