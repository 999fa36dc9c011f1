"""A narrowed token: no route discloses what its principal has beyond it; hidden and missing names get the same answer."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.routes import METHODS, Route, resolved, routes, sample
from tests.promises.test_existence_disclosure import query as definition
from tests.promises.test_existence_disclosure import table

SEEN = "lake.raw.t"
NARROWINGS: Mapping[str, Mapping[str, list[str]]] = {
    "by resource": {"only": [SEEN]},
    "by action": {"actions": ["lake.describe"]},
    "by both": {"only": [SEEN], "actions": ["table.select", "table.describe"]},
}
VARYING = re.compile(r"\b[a-z]{1,2}_[0-9a-f]{32}\b|(?<=\"last_used\":)[0-9.]+")


class Hidden:
    """Names and ids that the owner may see and the token may not, each with one that does not exist."""

    def __init__(self, world: DeploymentHarness) -> None:
        self.world = world
        self.pairs: dict[str, tuple[str, str]] = {
            "a table": ("lake.raw.hidden", "lake.raw.nosuch"),
            "the id of a table": ("table_hidden", "table_nosuch"),
            "a database": ("lake.secret", "lake.nosuch"),
            "the name of a database": ("secret", "nosuch"),
            "a pipeline": ("hiddenpipe", "nosuch"),
            "a connection": ("hiddenconn", "nosuch"),
            "a group": ("hiddencrew", "nosuch"),
            "a user": ("sam", "nosuch"),
            "a service principal": ("hiddenbot", "nosuch"),
            "a token": (world.tokens["owner"].split(".")[1], f"t_{'0' * 32}"),
            "a request": (self._request(), f"q_{'0' * 32}"),
            "a request on nothing": (self._request("lake.raw.gone"), f"q_{'0' * 32}"),
        }

    def _request(self, name: str = "lake.raw.hidden") -> str:
        body = {"action": "database.describe", "resource": name, "purpose": "to know"}
        answer = self.world.call("sam", "POST", "/requests", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    folder = tmp_path_factory.mktemp("narrowed")
    with world_in(folder) as opened:
        _fill(opened, folder)
        yield opened


def _fill(world: DeploymentHarness, folder: Path) -> None:
    table(world, "raw", "t")
    table(world, "raw", "hidden")
    world.add("sam")
    for path, body in (
        ("/connections", {"name": "hiddenconn", "folder": str(folder)}),
        ("/groups", {"name": "hiddencrew"}),
        ("/service-principals", {"name": "hiddenbot"}),
        ("/assignments", {"subject": "sam", "role": "viewer", "resource": "lake.raw.hidden"}),
    ):
        assert world.call("owner", "POST", path, body).status_code == 201, path
    owner = world.caller("owner").principal
    assert world.call("owner", "PUT", f"/groups/hiddencrew/members/{owner}").status_code in (200, 201)
    made = definition("hiddenpipe", "lake.secret.out", "lake.raw.hidden")
    assert world.call("owner", "PUT", "/pipelines/hiddenpipe", made).status_code == 200
    for name, narrowing in NARROWINGS.items():
        world.tokens[name] = world.call("owner", "POST", "/tokens", narrowing).json()["token"]


@pytest.fixture(scope="module")
def hidden(world: DeploymentHarness) -> Hidden:
    return Hidden(world)


@pytest.fixture(scope="module")
def served(world: DeploymentHarness) -> list[Route]:
    found = routes(world.http.get("/api/openapi.json").json())
    assert {each.method for each in found} <= {each.upper() for each in METHODS}
    return [each for each in found if each.path.startswith("/api/v1") and "x-headgate-public" not in each.operation]


def bodies(route: Route, text: str) -> Iterator[Any]:
    """Yield bodies with this text: all fields, the required ones alone, and these with each optional one."""
    if route.body is None:
        yield None
        return
    yield sample(route.body, route.document, text)
    schema = resolved(route.body, route.document)
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = {each: sample(properties[each], route.document, text) for each in schema.get("required", ())}
    yield required
    for field in properties.keys() - required.keys():
        yield {**required, field: sample(properties[field], route.document, text)}


def queries(route: Route, text: str) -> Iterator[dict[str, Any]]:
    """Yield query parameters with this text: none, the required ones, and each one alone."""
    dry = {"dry_run": "true"} if any(each["name"] == "dry_run" for each in route.parameters("query")) else {}
    yield dry
    known = [each for each in route.parameters("query") if each["name"] not in ("dry_run", "as_of", "at_least")]
    if known:
        yield dry | {each["name"]: _value(route, each, text) for each in known if each.get("required")}
    for each in known:
        yield dry | {each["name"]: _value(route, each, text)}


def _value(route: Route, parameter: Mapping[str, Any], text: str) -> Any:
    return sample(parameter["schema"], route.document, text)


def asked(
    world: DeploymentHarness, who: str, route: Route, name: str, others: tuple[str, ...]
) -> list[tuple[int, str]]:
    """Return every answer of a route to this name, with the name replaced by a placeholder."""
    found: list[tuple[int, str]] = []
    headers = {"authorization": f"Bearer {world.tokens[who]}"}
    for body in bodies(route, name):
        for query in queries(route, name):
            answer = world.http.request(route.method, route.filled(name), json=body, params=query, headers=headers)
            text = answer.text
            for each in others:
                text = text.replace(each, "NAME")
            found.append((answer.status_code, VARYING.sub("", text)))
    return found


TOKENS = list(NARROWINGS)


@pytest.fixture(params=[9, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(600)])], ids=["some", "all"])
def share(request: pytest.FixtureRequest) -> int:
    """One in how many pairs of a route and a name is tried with one token; `make soak` tries every pair with each."""
    return request.param


@pytest.mark.parametrize("who", TOKENS)
def test_every_route_answers_hidden_and_missing_names_alike(
    world: DeploymentHarness, hidden: Hidden, served: list[Route], who: str, share: int
) -> None:
    different = [
        (route.name, kind, one, other)
        for number, (route, (kind, pair)) in enumerate(product(served, hidden.pairs.items()))
        if number % share == TOKENS.index(who) % share
        for one, other in zip(*(asked(world, who, route, each, pair) for each in pair), strict=True)
        if one != other
    ]

    assert not different


@pytest.mark.parametrize("who", TOKENS)
def test_no_list_names_what_the_token_may_not_see(world: DeploymentHarness, served: list[Route], who: str) -> None:
    secret = ("hidden", "secret", "sam", world.tokens["owner"].split(".")[1])
    lists = [each for each in served if each.method == "GET" and not list(each.parameters("path"))]
    assert len(lists) > 20
    for route in lists:
        answer = world.http.get(route.path, headers={"authorization": f"Bearer {world.tokens[who]}"})
        told = answer.text.replace("secret>", "")
        assert not any(each in told for each in secret), (route.name, answer.text)


class TestANarrowedToken:
    @pytest.mark.parametrize("who", TOKENS)
    @pytest.mark.parametrize("name", [SEEN, "lake.raw.hidden", "lake.raw.nosuch"])
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_a_narrowed_token_files_no_request(
        self, world: DeploymentHarness, who: str, name: str, *, dry_run: bool
    ) -> None:
        body = {"action": "table.insert", "resource": name, "purpose": "to know"}

        answer = world.call(who, "POST", "/requests", body, dry_run=dry_run)

        assert answer.status_code == 422
        assert "a token that is limited to some resources or actions cannot request access" in answer.json()["detail"]

    @pytest.mark.parametrize("who", TOKENS)
    def test_a_narrowed_token_lists_itself_alone_among_tokens(self, world: DeploymentHarness, who: str) -> None:
        listed = world.call(who, "GET", "/tokens").json()["items"]

        assert [each["id"] for each in listed] == [world.tokens[who].split(".")[1]]

    def test_a_narrowed_token_may_still_revoke_itself(self, world: DeploymentHarness) -> None:
        made = world.call("owner", "POST", "/tokens", {"only": [SEEN]}).json()
        world.tokens["short"] = made["token"]

        assert world.call("short", "DELETE", f"/tokens/{made['id']}").status_code == 200

    def test_a_narrowed_token_does_not_get_the_answer_to_a_request_of_another_token(
        self, world: DeploymentHarness
    ) -> None:
        key, body = {"idempotency-key": "k"}, {"name": "once"}
        assert world.send("owner", "POST", "/groups", body, key).status_code == 201

        assert world.send("owner", "POST", "/groups", body, key).headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in world.send("by action", "POST", "/groups", body, key).headers


class TestATokenThatIsNotNarrowed:
    def test_a_token_that_is_not_narrowed_sees_what_its_principal_sees(self, world: DeploymentHarness) -> None:
        assert len(world.call("owner", "GET", "/tokens").json()["items"]) > 3
        assert "hiddencrew" in world.call("owner", "GET", "/me").text
