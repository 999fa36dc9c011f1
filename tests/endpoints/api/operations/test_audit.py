"""The audit over HTTP: the log of changes and the recorded decisions, in pages and as JSON lines."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.suspension import SuspendOrganization
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.app.server_process import until
from tests.endpoints.conftest import Make

USERS = "/api/v1/users"
LINES = {"accept": "application/x-ndjson"}


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    """An organization of `nekt` with the database `raw`; vic is a member."""
    place = make()
    assert place.call("owner", "POST", "/databases", {"name": "raw"}).status_code == 201
    place.add("vic")
    return place


def entries(place: OrganizationClient, **query: Any) -> list[dict[str, Any]]:
    answer = place.call("owner", "GET", "/audit", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def denied(place: OrganizationClient, wait: float = 10, **query: Any) -> list[dict[str, Any]]:
    """Return the recorded decisions; wait for the first one, because they are written shortly after the answer."""
    deadline = time.monotonic() + wait
    while True:
        answer = place.call("owner", "GET", "/audit/decisions", **query)
        assert answer.status_code == 200, answer.text
        if answer.json()["items"] or time.monotonic() > deadline:
            return answer.json()["items"]
        time.sleep(0.02)


class TestChanges:
    def test_an_audited_change_names_its_actor_endpoint_reason_and_grounds(self, acme: OrganizationClient) -> None:
        headers = {"headgate-why": "for the new project", "x-request-id": "r-1"}
        acme.send("owner", "POST", "/databases", {"name": "new"}, headers)

        last = entries(acme)[-1]

        assert (last["command"], last["door"], last["why"]) == ("resource.create", "api", "for the new project")
        assert last["names"][last["actor"]] == "owner"
        assert last["changes"][0]["name"] == "new"
        assert last["grounds"][0]["action"] == "lake.create_database"
        assert last["grounds"][0]["role"] == "owner"
        assert last["token"] == acme.caller("owner").token

    def test_a_member_cannot_read_the_audit(self, acme: OrganizationClient) -> None:
        assert acme.call("vic", "GET", "/audit").status_code == 403
        assert acme.call("vic", "GET", "/audit/decisions").status_code == 403

    def test_audited_changes_can_be_filtered(self, acme: OrganizationClient) -> None:
        acme.give("vic", "viewer", "lake.raw")
        revision = acme.control.snapshot.revision

        assert [each["revision"] for each in entries(acme, command="role.assign")] == [revision]
        assert revision in [each["revision"] for each in entries(acme, resource="lake.raw")]
        assert revision in [each["revision"] for each in entries(acme, actor="owner", door="api")]
        assert entries(acme, actor="vic") == []
        assert entries(acme, door="spark") == []
        assert entries(acme, until="2020-01-01T00:00:00Z") == []
        assert entries(acme, since="2020-01-01T00:00:00Z") == entries(acme)
        assert acme.call("owner", "GET", "/audit", since="soon").status_code == 422
        assert entries(acme, as_of=revision - 1) == entries(acme)[:-1]
        assert entries(acme, after=revision - 1) == entries(acme)[-1:]

    def test_pages_of_audited_changes_hold_each_revision_once(self, acme: OrganizationClient) -> None:
        found, after = list[int](), 0
        while after is not None:
            part = acme.call("owner", "GET", "/audit", limit=2, after=after).json()
            found += [each["revision"] for each in part["items"]]
            after = part["next"]

        assert found == list(range(1, acme.control.snapshot.revision + 1))

    def test_audited_changes_can_be_read_as_json_lines(self, acme: OrganizationClient) -> None:
        answer = acme.send("owner", "GET", "/audit", None, LINES)

        assert answer.headers["content-type"].startswith("application/x-ndjson")
        assert [json.loads(line) for line in answer.text.splitlines()] == entries(acme)


class TestDecisions:
    def test_every_denied_call_is_recorded_as_a_decision(self, acme: OrganizationClient) -> None:
        acme.call("vic", "POST", "/databases", {"name": "mine"})

        found = denied(acme, principal="vic")[0]

        assert (found["action"], found["allowed"], found["door"]) == ("POST /databases", False, "api")
        assert found["names"][found["principal"]] == "vic"
        assert denied(acme, 0, principal="vic", allowed=True) == []
        assert denied(acme, 0, principal="vic", action="table.select") == []
        assert denied(acme, 0, before=found["number"], principal="vic") == []

    def test_the_decision_of_a_question_is_recorded(self, acme: OrganizationClient) -> None:
        vic = {"action": "database.describe", "resource": "lake.raw", "subject": "vic"}
        acme.call("owner", "POST", "/questions", vic)

        found = denied(acme, action="database.describe")[0]

        assert (found["names"][found["principal"]], found["resource"] in found["names"], found["code"]) == (
            "vic",
            True,
            "denied",
        )

    def test_recorded_decisions_can_be_read_as_json_lines(self, acme: OrganizationClient) -> None:
        acme.call("vic", "GET", "/audit")
        denied(acme, principal="vic")

        answer = acme.send("owner", "GET", "/audit/decisions", None, LINES)

        assert json.loads(answer.text.splitlines()[-1])["action"] == "organization.read_audit"


class TestDecisionsAboutAnUnknownCaller:
    def test_a_denial_is_recorded_by_the_addressed_organization(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        before = [len(kept_in(world, each)) for each in (acme.opened.id, world.opened.id, DEPLOYMENT)]

        anonymous, stranger = (
            without_token(world, f"{acme.address}{USERS}"),
            sent(world, "owner", f"{acme.address}{USERS}"),
        )

        assert (anonymous.status_code, stranger.status_code) == (401, 401)
        kept = kept_in(world, acme.opened.id)
        assert [(each.action, each.principal, each.code) for each in kept[:2]] == [
            ("POST /users", None, "unauthenticated")
        ] * 2
        after = [len(kept_in(world, each)) for each in (acme.opened.id, world.opened.id, DEPLOYMENT)]
        assert [now - then for now, then in zip(after, before, strict=True)] == [2, 0, 0]

    def test_a_denial_is_recorded_by_the_only_organization(self, tmp_path: Path) -> None:
        with world_in(tmp_path) as alone:
            assert without_token(alone, USERS).status_code == 401

            assert [each.code for each in kept_in(alone, alone.opened.id)] == ["unauthenticated"]

    @pytest.mark.usefixtures("acme")
    @pytest.mark.parametrize("address", ["", "/o/nowhere"])
    def test_a_denial_is_recorded_by_the_deployment_without_an_organization(
        self, world: DeploymentHarness, address: str
    ) -> None:
        home, deployment = len(kept_in(world, world.opened.id)), len(kept_in(world, DEPLOYMENT))

        assert without_token(world, f"{address}{USERS}").status_code == 401

        assert len(kept_in(world, world.opened.id)) == home
        assert len(kept_in(world, DEPLOYMENT)) == deployment + 1

    def test_a_denial_reveals_nothing_about_the_organization(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        for send in (without_token, lambda *said: sent(said[0], "owner", said[1])):
            there, nowhere = (send(world, f"{each}{USERS}") for each in (acme.address, "/o/nowhere"))
            assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)

    def test_a_denial_is_recorded_by_the_organization_of_an_expired_token(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        token, home = acme.caller("vic").token, len(kept_in(world, world.opened.id))
        assert acme.call("vic", "DELETE", f"/tokens/{token}").status_code in (200, 204)

        assert acme.http.post(USERS, headers={"authorization": f"Bearer {acme.tokens['vic']}"}).status_code == 401

        assert [(each.action, each.code) for each in kept_in(world, acme.opened.id)[:1]] == [
            ("POST /users", "unauthenticated")
        ]
        assert len(kept_in(world, world.opened.id)) == home

    @pytest.mark.parametrize("is_named", [True, False])
    def test_a_denial_is_recorded_by_a_suspended_organization(
        self,
        world: DeploymentHarness,
        acme: OrganizationClient,
        is_named: bool,  # noqa: FBT001 (a parameter)
    ) -> None:
        home = len(kept_in(world, world.opened.id))
        acme.control.execute(SuspendOrganization(acme.opened.id), None)

        headers = {"authorization": f"Bearer {acme.tokens['owner']}"}
        answer = acme.http.post(f"{acme.address if is_named else ''}{USERS}", headers=headers)

        assert (answer.status_code, answer.json()["title"]) == (403, "suspended")
        assert [(each.action, each.code) for each in kept_in(world, acme.opened.id)[:1]] == [
            ("POST /users", "suspended")
        ]
        assert len(kept_in(world, world.opened.id)) == home


def without_token(world: DeploymentHarness, path: str) -> httpx.Response:
    return world.http.post(path, json={})


def sent(world: DeploymentHarness, name: str, path: str) -> httpx.Response:
    return world.http.post(path, json={}, headers={"authorization": f"Bearer {world.tokens[name]}"})


def kept_in(world: DeploymentHarness, root: ResourceId) -> list[AuditRecord]:
    """Return the audit records of a log, newest first."""
    until(lambda: world.deployment.audit.backlog == 0, lambda: "the audit is not written")
    return [each for _, each in world.deployment.stores.audit_records(root, AuditFilter(), limit=10_000)]


class TestSecrets:
    @pytest.fixture
    def secrets(self, acme: OrganizationClient) -> list[str]:
        """Every secret that the test uses."""
        answer = acme.call("vic", "POST", "/tokens", {})
        assert answer.status_code == 201, answer.text
        acme.tokens["again"] = answer.json()["token"]
        acme.call("again", "GET", "/audit", token=acme.tokens["again"])
        return list(acme.tokens.values())

    def test_secrets_never_appear_in_the_audit(self, acme: OrganizationClient, secrets: list[str]) -> None:
        denied(acme, principal="vic")
        texts = [
            acme.send("owner", "GET", path, None, headers).text
            for path in ("/audit", "/audit/decisions")
            for headers in ({}, LINES)
        ]

        for secret in secrets:
            assert not any(secret.split(".")[-1] in text for text in texts)
