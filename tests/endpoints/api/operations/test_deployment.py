"""Operators manage the organizations of a deployment; a suspended organization refuses all its members."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from headgate.control.deployment.operators import add_operator, remove_operator
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.audit_records import AuditFilter
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization import Organizations
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.store import open_stores
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.app.server_process import until
from tests.endpoints.api.operations.operators import log_in_operator
from tests.endpoints.api.resources.test_organizations import asked, login

HERE = "/api/v1/deployment/organizations"
_NUMBERS = count()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """A deployment of its own, so that the lists of operators have no organizations of other tests."""
    with world_in(tmp_path_factory.mktemp("operated")) as opened:
        yield opened


@pytest.fixture(scope="module")
def operator(world: DeploymentHarness) -> str:
    """The session of an operator."""
    return log_in_operator(world)


@pytest.fixture
def acme(world: DeploymentHarness) -> OrganizationClient:
    """An organization with a viewer of the database `raw`, which has a table."""
    place = world.organization(f"acme-{next(_NUMBERS)}", "nekt")
    assert place.call("owner", "POST", "/databases", {"name": "raw"}).status_code == 201
    body = {"type": "table", "parent": "lake.raw", "name": "t"}
    assert place.call("owner", "POST", "/resources", body).status_code == 201
    place.add("vic")
    assert place.give("vic", "viewer", "lake.raw").status_code == 201
    return place


def suspend(world: DeploymentHarness, operator: str, place: OrganizationClient) -> None:
    answer = asked(world, operator, "POST", f"{HERE}/{place.opened.id}/suspend", {"why": "unpaid"})
    assert answer.status_code == 200, answer.text


def resume(world: DeploymentHarness, operator: str, place: OrganizationClient) -> None:
    assert asked(world, operator, "POST", f"{HERE}/{place.opened.id}/resume").status_code == 200


def listed(world: DeploymentHarness, operator: str) -> dict[str, Any]:
    items = asked(world, operator, "GET", f"{HERE}?limit=500").json()["items"]
    return {each["name"]: each for each in items}


class TestOperators:
    def test_an_operator_lists_every_organization_page_by_page(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        first = asked(world, operator, "GET", f"{HERE}?limit=1").json()
        second = asked(world, operator, "GET", f"{HERE}?limit=1&cursor={first['next']}").json()
        found = listed(world, operator)[acme.address.removeprefix("/o/")]

        assert first["items"][0]["id"] != second["items"][0]["id"]
        assert (found["id"], found["model"], found["state"]) == (acme.opened.id, "nekt", "active")
        assert abs(found["created"] - time.time()) < 600
        assert "main" in listed(world, operator)

    def test_an_operator_creates_an_organization_for_another_user(
        self, world: DeploymentHarness, operator: str
    ) -> None:
        secret = login(world, "nina")
        body = {"name": "ninas", "model": "y42", "tree": "datamesh", "owner": "nina"}

        foreseen = asked(world, operator, "POST", "/api/v1/organizations?dry_run=true", body)
        begun = asked(world, operator, "POST", "/api/v1/organizations", body, idempotency_key="n")
        again = asked(world, operator, "POST", "/api/v1/organizations", body, idempotency_key="n")

        assert (foreseen.status_code, begun.status_code) == (200, 201), begun.text
        assert again.json() == begun.json()
        assert asked(world, secret, "GET", "/o/ninas/api/v1/me").json()["name"] == "nina"
        assert asked(world, operator, "GET", "/o/ninas/api/v1/me").status_code == 401

    def test_an_operator_has_no_right_inside_an_organization(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        for path in ("/me", "/resources", "/users"):
            assert asked(world, operator, "GET", f"{acme.address}/api/v1{path}").status_code == 401

    def test_a_former_operator_is_refused(self, world: DeploymentHarness) -> None:
        secret = login(world, "otto")
        user = world.deployment.auth_services.authentication.user_of("otto").principal
        control = world.deployment.organizations.deployment.control
        add_operator(control, user, INTERNAL)

        before = asked(world, secret, "GET", HERE).status_code
        remove_operator(control, user, INTERNAL)

        assert (before, asked(world, secret, "GET", HERE).status_code) == (200, 403)

    @pytest.mark.parametrize("dry_run", ["", "?dry_run=true"])
    def test_the_model_of_the_deployment_is_no_model_for_an_organization(
        self, world: DeploymentHarness, operator: str, dry_run: str
    ) -> None:
        body = {"name": "meta", "model": "deployment"}

        answer = asked(world, operator, "POST", f"/api/v1/organizations{dry_run}", body)

        assert (answer.status_code, "the access model `deployment` is not installed" in answer.text) == (422, True)
        assert "meta" not in listed(world, operator)

    def test_the_model_of_the_deployment_is_not_among_the_models_of_an_organization(
        self, acme: OrganizationClient
    ) -> None:
        names = [each["name"] for each in acme.call("owner", "GET", "/models").json()["items"]]

        assert names == ["datamesh", "nekt", "onehouse", "y42"]

    def test_an_unknown_owner_is_missing_to_an_operator(self, world: DeploymentHarness, operator: str) -> None:
        body = {"name": "orphan", "model": "nekt", "owner": "nosuch"}

        assert asked(world, operator, "POST", "/api/v1/organizations", body).status_code == 404


class TestOtherCallers:
    def test_an_owner_cannot_manage_organizations_nor_learn_which_exist(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        """With a token, with a user's login and without a credential, existing and missing organizations get the same answer."""
        login_of_user = login(world, f"u{next(_NUMBERS)}")
        other = world.organization(f"hidden-{next(_NUMBERS)}", "nekt")
        names = (other.opened.id, other.address.removeprefix("/o/"), "nosuch")

        for secret, status in ((acme.tokens["owner"], 403), (login_of_user, 403), ("hgs.a.b", 401)):
            for method, path, body in (
                ("POST", "/{}/suspend", {"why": "x"}),
                ("POST", "/{}/suspend?dry_run=true", {"why": "x"}),
                ("POST", "/{}/resume", None),
                ("DELETE", "/{}", None),
            ):
                answers = [asked(world, secret, method, f"{HERE}{path.format(name)}", body) for name in names]
                assert {each.status_code for each in answers} == {status}
                assert len({each.text for each in answers}) == 1
                assert other.opened.id not in answers[0].text
            refused = asked(world, secret, "GET", HERE)
            assert (refused.status_code, "hidden-" in refused.text) == (status, False)

    def test_an_owner_with_a_login_cannot_list_organizations(self, world: DeploymentHarness) -> None:
        secret = login(world, "nils")
        user = world.deployment.auth_services.authentication.user_of("nils").principal
        control = world.deployment.home.control
        control.execute(AddPrincipal(user, "nils", "owner"), None)

        assert asked(world, secret, "GET", "/o/main/api/v1/me").status_code == 200
        assert asked(world, secret, "GET", HERE).status_code == 403

    def test_an_operator_with_a_token_instead_of_a_login_is_refused(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        olga = world.deployment.auth_services.authentication.user_of("olga").principal
        acme.control.execute(AddPrincipal(olga, "olga", "owner"), None)

        answer = asked(world, acme.token(olga), "GET", HERE)

        assert (answer.status_code, "log in" in answer.json()["detail"]) == (403, True)

    def test_a_refused_removal_is_recorded_in_the_audit_of_the_deployment(self, world: DeploymentHarness) -> None:
        secret = login(world, "eddy")
        user = world.deployment.auth_services.authentication.user_of("eddy").principal

        asked(world, secret, "DELETE", f"{HERE}/main")
        until(lambda: world.deployment.audit.backlog == 0, lambda: "the audit is not written")

        kept = world.deployment.stores.audit_records(DEPLOYMENT, AuditFilter(principal=user))
        assert [(each.action, each.allowed) for _, each in kept] == [("deployment.remove_organization", False)]


class TestASuspendedOrganization:
    def test_every_endpoint_answers_members_that_their_organization_is_suspended(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        suspend(world, operator, acme)

        answers = [
            acme.call("vic", "GET", "/me"),
            acme.call("owner", "POST", "/databases", {"name": "new"}),
            acme.call("vic", "POST", "/sql", {"statement": "SELECT 1"}),
            asked(world, acme.tokens["vic"], "GET", "/api/v1/me"),
        ]
        evaluated = asked(world, acme.tokens["vic"], "POST", f"{acme.address}/access/v1/evaluation", {})
        at_once = asked(world, acme.tokens["vic"], "POST", "/access/v1/evaluation", {})
        catalog = asked(world, acme.tokens["vic"], "GET", f"{acme.address}/iceberg/v1/config")

        assert [(each.status_code, each.json()["title"]) for each in answers] == [(403, "suspended")] * 4
        assert {each.json()["detail"] for each in answers} == {
            "this organization is suspended; ask the operator of this deployment to resume it"
        }
        assert [(each.status_code, "is suspended" in each.text) for each in (evaluated, at_once)] == [(403, True)] * 2
        assert (catalog.status_code, catalog.json()["error"]["type"]) == (403, "ForbiddenException")
        assert listed(world, operator)[acme.address.removeprefix("/o/")]["state"] == "suspended"

    def test_a_stranger_cannot_tell_that_an_organization_is_suspended(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        stranger = login(world, f"u{next(_NUMBERS)}")
        before = asked(world, stranger, "GET", f"{acme.address}/api/v1/me")
        suspend(world, operator, acme)

        after = asked(world, stranger, "GET", f"{acme.address}/api/v1/me")
        other = asked(world, world.tokens["owner"], "GET", f"{acme.address}/api/v1/me")

        assert (after.status_code, after.text) == (before.status_code, before.text)
        assert (after.status_code, other.status_code) == (401, 401)

    def test_an_invitation_into_a_suspended_organization_is_missing_until_it_resumes(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        secret = acme.call("owner", "POST", "/invitations", {"role": "member"}).json()["invitation"]
        name = f"u{next(_NUMBERS)}"
        suspend(world, operator, acme)

        path, body = f"/api/v1/invitations/{secret}/accept", {"login": name, "password": "correct horse battery"}
        refused = world.http.post(path, json=body)

        assert refused.status_code == 404, refused.text
        resume(world, operator, acme)
        assert world.http.post(path, json=body).status_code == 201

    def test_a_resumed_organization_answers_as_before(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        table = f"{acme.address}/api/v1/resources/lake.raw.t"
        before = asked(world, acme.tokens["vic"], "GET", table).json()
        suspend(world, operator, acme)
        resume(world, operator, acme)

        after = asked(world, acme.tokens["vic"], "GET", table).json()

        assert {**after, "revision": 0} == {**before, "revision": 0}
        assert acme.call("owner", "POST", "/databases", {"name": "new"}).status_code == 201

    def test_another_organization_is_unaffected_by_a_suspension(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        other = world.organization(f"beside-{next(_NUMBERS)}", "nekt")
        suspend(world, operator, acme)

        assert other.call("owner", "POST", "/databases", {"name": "raw"}).status_code == 201
        assert world.call("owner", "GET", "/me").status_code == 200

    def test_a_dry_run_of_a_suspension_changes_nothing(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        answer = asked(world, operator, "POST", f"{HERE}/{acme.opened.id}/suspend?dry_run=true", {"why": "x"})

        assert (answer.status_code, answer.json()["dry_run"]) == (200, True)
        assert acme.call("vic", "GET", "/me").status_code == 200

    def test_a_repeated_suspension_is_written_once(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        path, body = f"{HERE}/{acme.opened.id}/suspend", {"why": "unpaid"}

        first = asked(world, operator, "POST", path, body, idempotency_key=f"s{acme.opened.id}")
        again = asked(world, operator, "POST", path, body, idempotency_key=f"s{acme.opened.id}")

        assert (again.json()["revision"], again.headers["idempotency-replayed"]) == (first.json()["revision"], "true")

    def test_the_logs_of_deployment_and_organization_record_why_it_was_suspended(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        suspend(world, operator, acme)
        deployment = world.deployment.organizations.deployment

        for place in (deployment, acme.opened):
            revision = place.control.snapshot.revision
            entry = place.store.entry(revision)
            assert entry is not None
            assert (entry.command, place.store.document("why", str(revision))) == (
                "organization.suspend",
                {"text": "unpaid"},
            )

    def test_a_member_still_lists_their_suspended_organization(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        suspend(world, operator, acme)

        mine = asked(world, acme.tokens["vic"], "GET", "/api/v1/organizations").json()["items"]

        assert [each["id"] for each in mine] == [acme.opened.id]


class TestARemovedOrganization:
    def test_the_home_organization_cannot_be_removed(self, world: DeploymentHarness, operator: str) -> None:
        home = world.opened.id

        answers = [asked(world, operator, "DELETE", f"{HERE}/{home}{more}") for more in ("", "?dry_run=true")]

        assert [answer.status_code for answer in answers] == [422, 422]
        assert "is the home organization of this deployment" in answers[0].json()["detail"]
        assert home in world.deployment.organizations.names_by_id

    def test_the_name_of_a_removed_organization_can_be_used_again(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        name = acme.address.removeprefix("/o/")

        removed = asked(world, operator, "DELETE", f"{HERE}/{name}")
        again = asked(world, operator, "POST", "/api/v1/organizations", {"name": name, "model": "nekt"})

        assert (removed.status_code, again.status_code) == (200, 201), again.text
        assert again.json()["id"] != acme.opened.id
        assert acme.call("vic", "GET", "/me").status_code == 401
        assert asked(world, operator, "DELETE", f"{HERE}/{acme.opened.id}").status_code == 404
        assert asked(world, operator, "GET", f"/o/{name}/api/v1/me").status_code == 200

    def test_the_log_of_a_removed_organization_can_still_be_exported(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        assert asked(world, operator, "DELETE", f"{HERE}/{acme.opened.id}").status_code == 200

        lines = list(world.deployment.stores.export(acme.opened.id))  # type: ignore[attr-defined]

        assert [entry.command for entry in acme.opened.store.entries()][-1] == "organization.end"
        assert len(lines) > 3

    def test_a_dry_run_of_a_removal_changes_nothing(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        answer = asked(world, operator, "DELETE", f"{HERE}/{acme.opened.id}?dry_run=true")

        assert (answer.status_code, answer.json()["dry_run"]) == (200, True)
        assert acme.call("vic", "GET", "/me").status_code == 200


class TestAReplica:
    def test_no_decision_on_a_replica_allows_once_a_suspension_has_returned(
        self, world: DeploymentHarness, operator: str, acme: OrganizationClient
    ) -> None:
        """Promise 4: another process on the same store reads the newest revisions before it answers."""
        vic, table = acme.caller("vic"), acme.control.snapshot.find(("lake", "raw", "t"))
        assert table is not None
        question = Question(Caller(vic.principal, vic.token), "table.select", table.id)
        stores = open_stores(world.deployment.settings.folder)
        replica = Organizations(stores, world.deployment.organizations.models, time.time)
        there = replica.open(acme.opened.id)
        assert there.control.ask(question).allowed

        suspend(world, operator, acme)
        replica.refresh()

        assert not there.control.ask(question).allowed
        assert not acme.control.ask(question).allowed
        assert there.control.answers.list_principals("table.select", table.id, time.time()) == frozenset()
        assert there.control.answers.list_resources(question.caller, "table.select", time.time()) == ()
        stores.close()
