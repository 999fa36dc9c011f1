"""Name resolution: a text refers to the same resource at every endpoint and on the command line."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from headgate.cli.facts.names import resource_of
from headgate.cli.facts.options import AskError
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import DeploymentHarness, world_in

ACTIONS = {"lake": "lake.create_database", "database": "database.create_table", "table": "table.select"}
"""For each type that AuthZEN is asked about, an action that the owner may do."""

NAMES = ("organization", "lake", "lake.raw", "lake.raw.t", "shop")
MISSING = (
    "nosuch",
    "raw",
    "lake.RAW",
    "lake.raw.t.x",
    "lake.raw.",
    ".lake.raw",
    "lake..t",
    "lake/raw",
    "organization.lake",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("deployment")) as opened:
        opened.create("/resources", {"type": "table", "parent": "lake.raw", "name": "t"})
        opened.create("/connections", {"name": "shop", "http": {"base_url": "https://shop.example"}})
        yield opened


def by_the_api(world: DeploymentHarness, text: str) -> str | None:
    answer = world.call("owner", "GET", f"/resources/{quote(text, safe='')}")
    return str(answer.json()["id"]) if answer.status_code == 200 else None


def by_a_question(world: DeploymentHarness, text: str) -> str | None:
    body = {"action": "organization.ask", "resource": text, "subject": None}
    answer = world.call("owner", "POST", "/questions/explain", body)
    return by_the_api(world, answer.json()["resource"]) if answer.status_code == 200 else None


def by_the_list_of_assignments(world: DeploymentHarness, text: str) -> str | None:
    answer = world.call("owner", "GET", f"/assignments?resource={quote(text, safe='')}")
    return by_the_api(world, text) if answer.status_code == 200 else None


def by_the_command_line(world: DeploymentHarness, text: str) -> str | None:
    try:
        return resource_of(world.control.snapshot, text)
    except AskError:
        return None


def by_authzen(world: DeploymentHarness, text: str, type: str) -> bool:
    """Whether AuthZEN allows the owner the action on a resource of the type, as it does on every one that it finds."""
    body = {
        "subject": {"type": "user", "id": world.caller("owner").principal},
        "action": {"name": ACTIONS[type]},
        "resource": {"type": type, "id": text},
    }
    known = {"authorization": f"Bearer {world.tokens['owner']}"}
    answer = world.http.post("/access/v1/evaluation", json=body, headers=known)
    return bool(answer.json()["decision"])


def by_a_statement(world: DeploymentHarness, text: str) -> str | None:
    """Return the resource to which the guard and the catalog resolve a full name."""
    names = text.split(".")
    action = ACTIONS[("lake", "database", "table")[len(names) - 1]]
    return world.opened.gate.check(world.caller("owner"), action, names).resource


@pytest.mark.parametrize("text", NAMES)
def test_a_name_means_the_same_resource_everywhere(world: DeploymentHarness, text: str) -> None:
    id = by_the_api(world, text)

    assert id in world.control.snapshot.resources
    assert {ask(world, text) for ask in (by_a_question, by_the_list_of_assignments, by_the_command_line)} == {id}
    # The ids of resources that a model creates have a slash, which a path of the API cannot contain.
    paths = () if "/" in str(id) else (by_the_api, by_a_question)
    assert {ask(world, str(id)) for ask in (*paths, by_the_command_line)} == {id}
    type = world.control.snapshot.resources[ResourceId(str(id))].type
    if type in ACTIONS:
        assert by_authzen(world, text, type)
        assert by_authzen(world, str(id), type)
        assert by_a_statement(world, text) == id


@pytest.mark.parametrize("text", MISSING)
def test_a_text_that_names_nothing_names_nothing_everywhere(world: DeploymentHarness, text: str) -> None:
    assert {
        ask(world, text) for ask in (by_the_api, by_a_question, by_the_list_of_assignments, by_the_command_line)
    } == {None}
    assert not any(by_authzen(world, text, type) for type in ACTIONS)
    if text.count(".") < 3:
        assert by_a_statement(world, text) is None


def test_a_name_of_another_type_is_not_found_by_authzen(world: DeploymentHarness) -> None:
    assert not by_authzen(world, "lake.raw", "table")
    assert not by_authzen(world, "lake.raw.t", "database")
