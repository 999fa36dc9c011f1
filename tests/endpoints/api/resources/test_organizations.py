import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.control.deployment.bootstrap import open_organizations
from headgate.control.resources.changes import RenameResource
from headgate.store import open_stores
from tests.app.deployment_harness import DeploymentHarness, settings_in, world_in
from tests.endpoints.conftest import Make

PASSWORD = "correct horse battery"  # noqa: S105 (a test secret)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """A deployment whose model lets users create organizations for their own domain."""
    folder: Path = tmp_path_factory.mktemp("platform")
    stores = open_stores(settings_in(folder).folder)
    open_organizations(stores, time.time, "onehouse")
    stores.close()
    with world_in(folder) as world:
        yield world


def login(world: DeploymentHarness, name: str) -> str:
    """Create a user of the deployment with a domain of their own, and log them in; returns the session's secret."""
    logins = world.deployment.auth_services.authentication
    logins.register(name, login=name, password=PASSWORD, email=f"{name}@{name}.example", verified=True)
    return logins.log_in(name, PASSWORD, {}).secret


def asked(world: DeploymentHarness, secret: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    known = {"authorization": f"Bearer {secret}", **{key.replace("_", "-"): value for key, value in headers.items()}}
    return world.http.request(method, path, json=body, headers=known)


class TestTheOrganization:
    def test_an_organization_is_shown_to_its_members(self, make: Make) -> None:
        acme = make("onehouse", tree="datamesh")
        acme.add("vic")

        found = acme.call("vic", "GET", "/organization").json()

        assert (found["id"], found["name"]) == (acme.opened.id, acme.address.removeprefix("/o/"))
        assert (found["model"], found["tree"], found["break_glass"]) == ("onehouse", "datamesh", None)

    @pytest.mark.parametrize("model", ["nekt", "y42", "onehouse", "datamesh"])
    def test_renaming_an_organization_needs_a_privilege(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")
        name = f"{acme.address.removeprefix('/o/')}-too"

        assert acme.call("vic", "PATCH", "/organization", {"name": name}).status_code == 403
        assert acme.call("owner", "PATCH", "/organization", {"name": name}, dry_run=True).status_code == 200
        assert acme.call("owner", "GET", "/organization").json()["name"] != name
        assert acme.call("owner", "PATCH", "/organization", {"name": name}).status_code == 200
        acme.address = f"/o/{name}"
        assert acme.call("owner", "GET", "/organization").json()["name"] == name

    def test_a_rename_interrupted_after_the_deployment_log_can_be_completed(
        self, world: DeploymentHarness, make: Make
    ) -> None:
        """The process ended between the writes to the two logs."""
        acme = make()
        name, id = f"{acme.address.removeprefix('/o/')}-half", acme.opened.id
        world.deployment.organizations.deployment.control.execute(RenameResource(id, name), None)
        acme.address = f"/o/{name}"

        assert acme.call("owner", "PATCH", "/organization", {"name": name}).status_code == 200
        assert [entry.command for entry in acme.opened.store.entries()][-1] == "organization.rename"

    def test_an_organization_cannot_take_an_invalid_or_taken_name(self, make: Make) -> None:
        acme, other = make(), make()

        taken = acme.call("owner", "PATCH", "/organization", {"name": other.address.removeprefix("/o/")})

        assert taken.status_code == 409
        assert acme.call("owner", "PATCH", "/organization", {"name": "a/b"}).status_code == 422
        assert acme.call("owner", "PATCH", "/organization", {"attributes": {"domain": ["x"]}}).status_code == 422

    def test_deleting_an_organization_needs_a_privilege_of_its_model(
        self, world: DeploymentHarness, make: Make
    ) -> None:
        acme, other = make("y42"), make("nekt")
        acme.add("vic")

        assert other.call("owner", "DELETE", "/organization").status_code == 403
        assert acme.call("vic", "DELETE", "/organization").status_code == 403
        assert acme.call("owner", "DELETE", "/organization", dry_run=True).status_code == 200
        assert acme.call("owner", "DELETE", "/organization").status_code == 200
        assert acme.call("owner", "GET", "/me").status_code == 401
        there = world.deployment.organizations.deployment.control.snapshot
        assert acme.opened.id not in there.resources
        assert [entry.command for entry in acme.opened.store.entries()][-1] == "organization.end"


class TestBeginning:
    def test_creating_an_organization_is_refused_to_a_user_without_operator_role(
        self, world: DeploymentHarness
    ) -> None:
        secret = login(world, "may")

        refused = asked(world, secret, "POST", "/api/v1/organizations", {"name": "mine", "model": "nekt"})

        assert refused.status_code == 403
        assert refused.json()["detail"].endswith("you do not hold `operator` on `deployment`")

    def test_a_service_principal_cannot_create_an_organization(self, world: DeploymentHarness, make: Make) -> None:
        acme = make()
        acme.program("robot")
        body = {"name": "mine", "model": "nekt"}

        assert acme.call("robot", "POST", "/organizations", body).status_code == 403
        assert asked(world, "hgs.a.b", "POST", "/api/v1/organizations", body).status_code == 401

    def test_a_user_that_creates_an_organization_for_their_domain_becomes_its_admin(
        self, platform: DeploymentHarness
    ) -> None:
        secret = login(platform, "ann")
        body = {"name": "ann-inc", "model": "onehouse", "tree": "datamesh", "domain": "ann.example"}

        assert asked(platform, secret, "GET", "/api/v1/organizations").json()["items"] == []
        foreseen = asked(platform, secret, "POST", "/api/v1/organizations?dry_run=true", body)
        assert (foreseen.status_code, foreseen.json()["dry_run"]) == (200, True)
        begun = asked(platform, secret, "POST", "/api/v1/organizations", body, idempotency_key="k")
        assert begun.status_code == 201, begun.text
        again = asked(platform, secret, "POST", "/api/v1/organizations", body, idempotency_key="k")
        assert again.json() == begun.json()
        other = asked(platform, secret, "POST", "/api/v1/organizations", {**body, "name": "b"}, idempotency_key="k")
        assert other.status_code == 422

        me = asked(platform, secret, "GET", "/o/ann-inc/api/v1/me").json()
        assert [each["role"] for each in me["roles"]] == ["admin"]
        mine = asked(platform, secret, "GET", "/api/v1/organizations").json()["items"]
        assert mine == [{"id": begun.json()["id"], "name": "ann-inc"}]

    def test_an_organization_for_a_foreign_domain_or_unknown_model_is_not_created(
        self, platform: DeploymentHarness
    ) -> None:
        secret = login(platform, "eve")
        before = platform.deployment.organizations.deployment.control.snapshot.resources

        for body, status in (
            ({"name": "eve-inc", "model": "onehouse", "domain": "ann.example"}, 403),
            ({"name": "eve-inc", "model": "onehouse"}, 403),
            ({"name": "eve-inc", "model": "nosuch", "domain": "eve.example"}, 422),
            ({"name": "e/ve", "model": "onehouse", "domain": "eve.example"}, 422),
        ):
            assert asked(platform, secret, "POST", "/api/v1/organizations", body).status_code == status
        assert platform.deployment.organizations.deployment.control.snapshot.resources == before

    @pytest.mark.parametrize("name", ["s\u0435cret", "\uff33\uff25\uff23\uff32\uff25\uff34"])
    @pytest.mark.parametrize("dry_run", ["", "?dry_run=true"])
    def test_an_organization_with_a_look_alike_name_is_refused(
        self, platform: DeploymentHarness, name: str, dry_run: str
    ) -> None:
        user = f"mia{ord(name[0])}{dry_run[-4:]}"
        secret = login(platform, user)
        before = platform.deployment.organizations.deployment.control.snapshot.resources

        body = {"name": name, "model": "onehouse", "domain": f"{user}.example"}
        answer = asked(platform, secret, "POST", f"/api/v1/organizations{dry_run}", body)

        assert (answer.status_code, "cannot be a name" in answer.text) == (422, True)
        assert platform.deployment.organizations.deployment.control.snapshot.resources == before
