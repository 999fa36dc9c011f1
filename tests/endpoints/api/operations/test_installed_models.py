"""Operators install and remove the access models of a deployment over the API."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.control.models.model_files import HARBOUR, harbour
from tests.endpoints.api.operations.operators import log_in_operator
from tests.endpoints.api.resources.test_organizations import asked, login

HERE = "/api/v1/deployment/models"
_NUMBERS = count()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("models")) as opened:
        yield opened


@pytest.fixture(scope="module")
def operator(world: DeploymentHarness) -> str:
    """The session of an operator."""
    return log_in_operator(world)


@pytest.fixture
def name() -> str:
    """A name for a new model."""
    return f"harbour{next(_NUMBERS)}"


def named(source: str, name: str) -> dict[str, str]:
    """Return the body of an installation of a model under another name."""
    return {"source": source.replace("model: harbour", f"model: {name}")}


def install(world: DeploymentHarness, operator: str, body: dict[str, str], **headers: str) -> Any:
    return asked(world, operator, "POST", HERE, body, **headers)


def use(world: DeploymentHarness, model: str) -> OrganizationClient:
    """Return a new organization of the model."""
    return world.organization(f"user-of-{model}", model)


class TestInstalling:
    def test_an_operator_installs_a_model_that_an_organization_then_uses(
        self, world: DeploymentHarness, operator: str, name: str
    ) -> None:
        installed = install(world, operator, named(harbour(1), name))
        port = use(world, name)
        quay = port.create("/databases", {"name": "north"})
        cargo = port.create("/resources", {"type": "table", "parent": quay, "name": "grain"})
        port.program("crane")

        assert installed.status_code == 201, installed.text
        question = {"action": "table.select", "resource": cargo}
        assert port.result("owner", "POST", "/questions", question)["allowed"]
        assert port.result("owner", "GET", f"/models/{name}")["in_force"]

    def test_a_dry_run_installs_nothing(self, world: DeploymentHarness, operator: str, name: str) -> None:
        answer = asked(world, operator, "POST", f"{HERE}?dry_run=true", named(harbour(1), name))

        assert answer.json()["changes"][0]["model"] == name
        assert asked(world, operator, "GET", f"{HERE}/{name}").status_code == 404

    def test_a_repeated_request_installs_a_model_once(self, world: DeploymentHarness, operator: str, name: str) -> None:
        first, again = (
            install(world, operator, named(harbour(1), name), idempotency_key=name).json() for _ in range(2)
        )

        assert first == again

    def test_a_model_with_mistakes_is_refused_with_their_places(
        self, world: DeploymentHarness, operator: str, name: str
    ) -> None:
        body = named(harbour(1).replace("holder: master", "holder: mister"), name)

        answer = install(world, operator, body)
        assert (answer.status_code, answer.json()["title"]) == (422, "invalid")
        assert "model.yaml:" in answer.json()["detail"]
        assert "did you mean `master`" in answer.json()["detail"]

    def test_the_source_of_a_model_is_shown_with_the_organizations_that_use_it(
        self, world: DeploymentHarness, operator: str, name: str
    ) -> None:
        body = named(harbour(1), name)
        install(world, operator, body)
        use(world, name)

        found = asked(world, operator, "GET", f"{HERE}/{name}").json()
        assert (found["source"], found["organizations"]) == (body["source"], [f"user-of-{name}"])
        assert (found["version"], found["versions"], found["shipped"]) == (1, 1, False)

    def test_an_organization_keeps_its_version_when_the_next_one_is_installed(
        self, world: DeploymentHarness, operator: str, name: str
    ) -> None:
        install(world, operator, named(harbour(1), name))
        port = use(world, name)
        install(world, operator, named(harbour(2, "insert"), name))

        found = port.result("owner", "GET", f"/models/{name}")
        assert (found["version"], found["installed"]) == (1, 2)
        assert "insert" not in str(found["matrix"]["table"])


class TestRemoving:
    def test_a_model_in_use_is_not_removed(self, world: DeploymentHarness, operator: str, name: str) -> None:
        install(world, operator, named(harbour(1), name))
        use(world, name)

        answer = asked(world, operator, "DELETE", f"{HERE}/{name}")
        assert (answer.status_code, f"in use in `user-of-{name}`" in answer.text) == (422, True)

    def test_a_removed_model_is_not_listed(self, world: DeploymentHarness, operator: str, name: str) -> None:
        install(world, operator, named(harbour(1), name))
        assert asked(world, operator, "DELETE", f"{HERE}/{name}").status_code == 200

        listed = [each["name"] for each in asked(world, operator, "GET", HERE).json()["items"]]
        assert (name in listed, "nekt" in listed) == (False, True)


class TestOtherCallers:
    def test_an_organization_sees_no_model_that_was_installed_for_another_one(
        self, world: DeploymentHarness, operator: str, name: str
    ) -> None:
        install(world, operator, named(harbour(1), name))
        other = world.organization(f"other-{name}", "nekt")

        listed = [each["name"] for each in other.result("owner", "GET", "/models")["items"]]
        assert listed == ["datamesh", "nekt", "onehouse", "y42"]
        assert other.call("owner", "GET", f"/models/{name}").status_code == 404

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("GET", "", None),
            ("GET", "/nekt", None),
            ("POST", "", {"source": HARBOUR}),
            ("DELETE", "/nekt", None),
            ("GET", "/nosuch", None),
            ("DELETE", "/nosuch", None),
        ],
    )
    def test_another_user_of_the_deployment_is_refused(
        self, world: DeploymentHarness, method: str, path: str, body: Any
    ) -> None:
        secret = login(world, f"ned{next(_NUMBERS)}")

        assert asked(world, secret, method, f"{HERE}{path}", body).status_code == 403
