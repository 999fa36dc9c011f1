"""Repeated requests to the catalog: only the first sender gets the stored answer, with only what a load would show."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.journeys.test_catalog import SCHEMA, VERSION
from tests.lake.staged_table import build_create_commit

TABLES, VIEWS = "/v1/namespaces/raw/tables", "/v1/namespaces/raw/views"
COMMENT = "what another user wrote afterwards"
MAKES = ["database.describe", "database.create_table", "database.create_view", "lake.register_table", "table.alter"]
"""Actions of a token that creates tables and views, and may neither select from them nor describe them."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """`maker` and `reader` are tokens of the owner: one creates tables and views, the other may also load them."""
    with world_in(tmp_path_factory.mktemp("repeated")) as opened:
        for who, actions in (("maker", MAKES), ("reader", [*MAKES, "table.select", "table.describe"])):
            made = opened.call("owner", "POST", "/tokens", {"actions": actions})
            assert made.status_code == 201, made.text
            opened.tokens[who] = made.json()["token"]
        yield opened


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return f"t{abs(hash(request.node.name))}"


def sent(world: DeploymentHarness, who: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
    headers = {"authorization": f"Bearer {world.tokens[who]}", **({"idempotency-key": key} if key else {})}
    return world.http.request("GET" if body is None else "POST", f"/iceberg{path}", json=body, headers=headers)


def comment(world: DeploymentHarness, path: str) -> None:
    """Set a property as the owner, which the maker has not seen."""
    updates = [{"action": "set-properties", "updates": {"comment": COMMENT}}]
    assert sent(world, "owner", path, {"requirements": [], "updates": updates}).status_code == 200


def table(name: str) -> dict[str, Any]:
    return {"name": name, "schema": SCHEMA.model_dump()}


def view(name: str) -> dict[str, Any]:
    return {"name": name, "schema": SCHEMA.model_dump(), "view-version": VERSION, "properties": {}}


def staged(world: DeploymentHarness, name: str) -> dict[str, Any]:
    """Return the commit that creates a staged table."""
    metadata = sent(world, "maker", TABLES, {**table(name), "stage-create": True}).json()["metadata"]
    return build_create_commit(metadata)


def registered(world: DeploymentHarness, name: str) -> dict[str, Any]:
    """Return a request that registers a table that was dropped."""
    made = sent(world, "owner", TABLES, table(name)).json()["metadata-location"]
    dropped = world.http.delete(
        f"/iceberg{TABLES}/{name}", headers={"authorization": f"Bearer {world.tokens['owner']}"}
    )
    assert dropped.status_code == 204
    return {"name": name, "metadata-location": made}


CREATES = ["create table", "create view", "register table", "commit of a staged create"]


def created(world: DeploymentHarness, create: str, name: str) -> tuple[str, Any, str]:
    """Return the path and the body of a create request, and the path of the new table or view."""
    match create:
        case "create table":
            return TABLES, table(name), f"{TABLES}/{name}"
        case "create view":
            return VIEWS, view(name), f"{VIEWS}/{name}"
        case "register table":
            return "/v1/namespaces/raw/register", registered(world, name), f"{TABLES}/{name}"
        case _:
            return f"{TABLES}/{name}", staged(world, name), f"{TABLES}/{name}"


def load_and_repeat(
    world: DeploymentHarness, who: str, create: str, name: str
) -> tuple[httpx.Response, httpx.Response]:
    """Create a table or view, change it, and return the answers to a load of it and to the repeated create."""
    path, body, made = created(world, create, name)
    assert sent(world, who, path, body, name).status_code == 200
    comment(world, made)
    return sent(world, who, made), sent(world, who, path, body, name)


@pytest.mark.parametrize("create", CREATES)
def test_a_repeated_create_is_refused_as_a_load_is(world: DeploymentHarness, name: str, create: str) -> None:
    load, repeat = load_and_repeat(world, "maker", create, name)

    assert load.status_code == 403
    assert (repeat.status_code, repeat.content) == (load.status_code, load.content)


@pytest.mark.parametrize("create", CREATES)
def test_a_repeated_create_returns_what_a_load_returns(world: DeploymentHarness, name: str, create: str) -> None:
    load, repeat = load_and_repeat(world, "reader", create, name)

    assert (repeat.status_code, repeat.json()["metadata"]) == (200, load.json()["metadata"])
    assert COMMENT in repeat.text


def test_a_repeated_commit_to_a_view_is_refused_as_a_load_is(world: DeploymentHarness, name: str) -> None:
    path = f"{VIEWS}/{name}"
    assert sent(world, "owner", VIEWS, view(name)).status_code == 200
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"own": "1"}}]}
    assert sent(world, "maker", path, body, name).status_code == 200
    comment(world, path)

    repeat = sent(world, "maker", path, body, name)

    assert (repeat.status_code, COMMENT in repeat.text) == (403, False)


@pytest.mark.parametrize("create", CREATES)
def test_a_key_of_a_full_session_is_another_key_to_a_narrowed_token(
    world: DeploymentHarness, name: str, create: str
) -> None:
    path, body, made = created(world, create, name)
    assert sent(world, "owner", path, body, name).status_code == 200
    comment(world, made)

    repeat = sent(world, "reader", path, body, name)

    # For another caller the request is a new one, and its name, folder or staged metadata is in use.
    assert (repeat.status_code in (403, 409), COMMENT in repeat.text) == (True, False), repeat.text


def test_a_key_of_a_narrowed_token_is_another_key_to_another_token(world: DeploymentHarness, name: str) -> None:
    assert sent(world, "maker", TABLES, table(name), name).status_code == 200

    assert sent(world, "reader", TABLES, table(name), name).status_code == 409
    assert sent(world, "owner", TABLES, table(name), name).status_code == 409


def test_a_key_of_a_user_is_the_same_key_to_all_its_full_sessions(world: DeploymentHarness, name: str) -> None:
    other = world.call("owner", "POST", "/tokens", {})
    world.tokens["again"] = other.json()["token"]
    assert sent(world, "owner", TABLES, table(name), name).status_code == 200

    assert sent(world, "again", TABLES, table(name), name).status_code == 200
