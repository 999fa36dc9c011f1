"""Every route that offers `Idempotency-Key`: repeats, later or at the same moment, get the answer of the first request."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import count
from typing import Any

import pytest

from headgate.control.models.shipped_models import shipped_model
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.generated_organization import Scene, scene
from tests.app.repeated_requests import PREPARED, Ground
from tests.app.route_requests import WRITES, Asked
from tests.app.routes import routes
from tests.threads import call_at_once

MODELS = ("nekt", "y42", "onehouse", "datamesh")
AT_ONCE = 4
SECRETS = ("token", "invitation")
"""Fields that only the first answer has, because they are stored nowhere."""
ALONE = {
    "DELETE /organization": "the caller is in no organization any more, and no key is looked for: 401",
}
"""Routes whose requests cannot be sent twice."""
_NUMBERS = count()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("repeats")) as opened:
        opened.app.state.deployed = replace(opened.app.state.deployed, has_spark=lambda _: True)
        yield opened


@pytest.fixture(scope="module")
def repeatable(world: DeploymentHarness) -> set[str]:
    """The routes that offer the key."""
    found = routes(world.http.get("/api/openapi.json").json())
    return {
        each.name.replace("/api/v1", "")
        for each in found
        if any(header["name"] == "idempotency-key" for header in each.parameters("header"))
    }


class Scenes:
    """One organization of each model for dry runs, and a new one for each request that is carried out."""

    def __init__(self, world: DeploymentHarness) -> None:
        self.world = world
        self.of = cache(self._filled)

    def asked(self, ground: Ground, name: str) -> Asked:
        """Return the first request of a route that an owner may send, in a new organization where it was not sent before."""
        method = name.partition(" ")[0]
        for model in MODELS:
            for number, asked in enumerate(WRITES[name](self.of(model))):
                query = {**asked.query, "dry_run": "true"}
                place = self.of(model).place
                if place.call("owner", method, asked.path, asked.body, **query).status_code == 200:
                    filled = scene(ground.place(model), shipped_model(model).model)
                    return list(WRITES[name](filled))[number]
        raise AssertionError(f"no model lets an owner send {name}")

    def _filled(self, model: str) -> Scene:
        place = self.world.organization(f"dry-{next(_NUMBERS)}", model)
        return scene(place, shipped_model(model).model)


@pytest.fixture(scope="module")
def scenes(world: DeploymentHarness) -> Scenes:
    return Scenes(world)


def without_secrets(answer: Any) -> tuple[int, dict[str, Any], str | None]:
    """Return the status, the fields and the ETag of an answer, without the secrets; they are the same for every repeat."""
    body = {key: value for key, value in answer.json().items() if key not in SECRETS}
    return answer.status_code, body, answer.headers.get("etag")


@pytest.mark.parametrize("name", sorted({*WRITES, *PREPARED} - ALONE.keys()))
def test_repeats_at_once_and_later_get_the_one_answer(world: DeploymentHarness, scenes: Scenes, name: str) -> None:
    ground, method = Ground(world), name.partition(" ")[0]
    asked = PREPARED[name](ground) if name in PREPARED else scenes.asked(ground, name)

    answers = call_at_once([partial(ground.send, method, asked, "k")] * AT_ONCE)
    later = ground.send(method, asked, "k")
    other = ground.send(method, asked, "k", {"another": "request"})

    assert [each.text for each in answers if each.status_code >= 300] == []
    assert [without_secrets(each) for each in (*answers, later)] == [without_secrets(answers[0])] * (AT_ONCE + 1)
    assert sum("idempotency-replayed" not in each.headers for each in (*answers, later)) == 1
    assert (other.status_code, other.json()["title"]) == (422, "key reused")


def test_every_route_that_offers_the_key_is_swept(repeatable: set[str]) -> None:
    assert repeatable == {*WRITES, *PREPARED, *ALONE}


@pytest.mark.parametrize("key", ["", "k" * 300])
def test_a_key_that_is_empty_or_too_long_is_refused_without_an_effect(world: DeploymentHarness, key: str) -> None:
    headers = {"authorization": f"Bearer {world.tokens['owner']}", "idempotency-key": key}

    answer = world.http.post("/api/v1/groups", json={"name": "keyless"}, headers=headers)

    assert answer.status_code == 422
    assert answer.json()["faults"][0]["at"] == "header.idempotency-key"
    assert answer.json()["faults"][0]["fault"].startswith("the string is too ")
    assert "keyless" not in world.call("owner", "GET", "/groups").text
