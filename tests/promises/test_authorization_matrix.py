"""Every route for every role of every model: the answer matches the reference's decision on the action that the route declares."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from headgate.control.access.visibility import visible_subjects
from headgate.control.kernel.command import CommandEffect
from headgate.control.models.shipped_models import shipped_model
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, ResourceId
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.generated_organization import Scene, scene
from tests.app.route_requests import DISCOVER, ELSEWHERE, LISTS, READS, WRITES, Asked
from tests.app.routes import routes

MODELS = ("nekt", "y42", "onehouse", "datamesh")
PREFIX = "/api/v1"
OK, DENIED = (200, 201, 202, 204), (403, 404)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("sweep")) as opened:
        yield opened


@pytest.fixture(scope="module")
def paths(world: DeploymentHarness) -> Mapping[str, Any]:
    """The paths of the OpenAPI document."""
    return world.http.get("/api/openapi.json").json()["paths"]


@pytest.fixture(scope="module", params=MODELS)
def one(request: pytest.FixtureRequest, world: DeploymentHarness) -> Scene:
    model = shipped_model(request.param).model
    return scene(world.organization(f"sweep-{model.name}", model.name), model)


@pytest.fixture(params=[29, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(600)])], ids=["some", "all"])
def share(request: pytest.FixtureRequest) -> int:
    """The share of the pairs of a principal and a request that is tried: one of this number."""
    return request.param


def some(one: Scene, number: int, share: int) -> list[str]:
    """Return the principals that send the request of this number."""
    return sorted(one.holders)[number % share :: share]


class Watched:
    """Records the questions to the engine for the command that was previewed last."""

    def __init__(self, one: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Question] = []
        control = one.place.control
        foresee = control.preview

        def preview(*given: Any) -> CommandEffect:
            plan = foresee(*given)
            self.asked = [each.question for each in plan.decisions]
            return plan

        monkeypatch.setattr(control, "preview", preview)


def sent(one: Scene, name: str, method: str, asked: Asked, **query: Any) -> Any:
    """Return the answer to this principal's request."""
    return one.place.call(name, method, asked.path, asked.body, **asked.query, **query)


def allows(one: Scene, caller: Caller, question: Question) -> bool:
    """Return the reference's decision on a question, asked for this caller."""
    control = one.place.control
    return decide(control.models, control.snapshot, replace(question, caller=caller), control.now).allowed


def as_declared(action: str, declared: list[str]) -> bool:
    """Whether the route declares that it needs this action."""
    return any(re.fullmatch(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(each)), action) for each in declared)


@pytest.mark.parametrize("name", WRITES)
def test_a_change_is_allowed_exactly_where_the_reference_allows_every_needed_action(
    one: Scene, name: str, share: int, paths: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    method, before = name.partition(" ")[0], one.place.control.snapshot.revision
    watched, declared = Watched(one, monkeypatch), needs_of(name, paths)

    for number, asked in enumerate(WRITES[name](one)):
        answer = sent(one, "owner", method, asked, dry_run=True)
        questions = watched.asked if answer.status_code in OK else []
        facts = one.place.control.snapshot
        assert all(as_declared(each.action, declared) for each in questions), (name, questions, declared)
        for who in some(one, number, share):
            theirs = sent(one, who, method, asked, dry_run=True)
            caller = one.place.caller(who)
            if theirs.status_code in OK:
                held = [each for each in questions or watched.asked if each.resource in facts.resources]
                assert all(allows(one, caller, each) for each in held), (who, asked, theirs.text)
            elif answer.status_code in OK:
                assert theirs.status_code in DENIED, (who, asked, theirs.text)
                assert not all(allows(one, caller, each) for each in questions), (who, asked, theirs.text)

    assert one.place.control.snapshot.revision == before


@pytest.mark.parametrize("name", READS)
def test_a_resource_is_shown_exactly_where_the_reference_allows_the_action(one: Scene, name: str, share: int) -> None:
    action, prepared = READS[name]
    facts = one.place.control.snapshot

    for number, asked in enumerate(prepared(one)):
        for who in some(one, number, share):
            answer, caller = sent(one, who, name.partition(" ")[0], asked), one.place.caller(who)
            needed = action.replace("{type}", facts.resources[ResourceId(asked.on)].type)
            allowed = may(one, caller, needed, ResourceId(asked.on))
            # A caller who may read the resource learns that its type has no document.
            none = name.endswith("/document") and answer.status_code == 422
            assert none or answer.status_code in (OK if allowed else DENIED), (who, asked, answer.text)
            assert allowed or answer.status_code in DENIED, (who, asked, answer.text)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_shows_what_may_be_discovered_and_nothing_else(one: Scene, path: str, share: int) -> None:
    facts = one.place.control.snapshot
    for who in some(one, [*LISTS].index(path), share):
        answer, caller = one.place.call(who, "GET", path, limit=500), one.place.caller(who)
        assert answer.status_code == 200, answer.text
        for item in answer.json()["items"]:
            id = ResourceId(item.get("id", ""))
            mine = id in facts.groups and GroupId(id) in facts.groups_of(caller.principal)
            assert mine or id not in facts.resources or may(one, caller, DISCOVER, id), (who, item)
        if path == "/resources":
            shown = {each["id"] for each in answer.json()["items"]}
            assert shown >= {id for _, id in one.pairs if may(one, caller, DISCOVER, id)}


def may(one: Scene, caller: Caller, action: str, on: ResourceId) -> bool:
    """Whether the reference allows an action; to discover a resource, one allowed action on it is enough."""
    control = one.place.control
    if on in control.snapshot.principals or on in control.snapshot.groups:
        return visible_subjects(control.answers, caller, control.now)(on)
    if action == DISCOVER or not one.model.has_action(action):
        # Every member knows their own organization.
        return on == one.place.opened.id or control.is_visible(caller, on)
    return allows(one, caller, Question(caller, action, on))


def needs_of(name: str, paths: Mapping[str, Any]) -> list[str]:
    """Return the actions that a route declares. `paths` are those of the OpenAPI document."""
    method, _, path = name.partition(" ")
    return paths[f"{PREFIX}{path}"][method.lower()]["x-headgate-needs"]


def test_every_route_that_needs_an_action_is_swept(world: DeploymentHarness) -> None:
    known = {*WRITES, *READS, *ELSEWHERE, *(f"GET {path}" for path in LISTS)}
    needing = {
        route.name.replace(PREFIX, "")
        for route in routes(world.http.get("/api/openapi.json").json())
        if route.path.startswith(PREFIX) and "x-headgate-needs" in route.operation
    }

    assert needing - known == set()
    assert known - needing == set()
