"""Denials of the statements that the guard refuses: each is one record, of the action and the resource that were needed."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.control.identity.tokens import RevokeToken
from headgate.facts.caller import Caller
from headgate.spark.sessions.signature import sign
from tests.app.deployment_harness import KEY, DeploymentHarness, OrganizationClient, world_in
from tests.promises.test_denials import Audits, by, only


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("denials")) as opened:
        yield opened


@pytest.fixture
def audits(world: DeploymentHarness) -> Audits:
    return Audits(world)


class TestStatementsThatTheGuardRefuses:
    """The guard asks one endpoint for statements of SQL over HTTP, of Spark Connect and of runs."""

    @pytest.fixture
    def home(self, world: DeploymentHarness) -> OrganizationClient:
        if "dan" not in world.tokens:
            world.add("dan")
            assert world.give("dan", "viewer", "lake.raw").status_code == 201
        return world

    def ask(self, world: DeploymentHarness, who: Caller, needs: list[Any], **more: Any) -> Any:
        handle, at = world.sessions.open(who, "s"), int(time.time())
        body = json.dumps({"needs": needs, **more}).encode()
        headers = {
            "authorization": f"Bearer {handle}",
            "x-headgate-time": str(at),
            "x-headgate-signature": sign(KEY, "POST", "/guard/v1/decide", at, handle, body),
        }
        return world.http.post("/guard/v1/decide", content=body, headers=headers).json()

    @pytest.mark.parametrize("name", ["lake.secret", "lake.absent"])
    @pytest.mark.parametrize("action", ["database.describe", "discover"])
    def test_a_hidden_name_and_a_missing_name_are_recorded_alike(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits, name: str, action: str
    ) -> None:
        need = {"action": action, "object": name.split(".")}

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [need], operation="op"))

        assert answer["allowed"] is False
        record = only(home, found)
        assert by(home, "dan", record)
        assert (record.action, record.resource) == ("database.describe", name)
        assert (record.code, record.origin.door) == ("not-found", "spark")

    def test_a_refused_need_on_a_visible_resource_is_recorded_with_its_id(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        needs = [{"action": each, "object": ["lake", "raw"]} for each in ("database.describe", "database.drop")]

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), needs))

        raw = home.control.snapshot.find(("lake", "raw"))
        assert (answer["allowed"], raw is None) == (False, False)
        record = only(home, found)
        assert (record.action, record.resource, record.code) == ("database.drop", raw and raw.id, "refused")

    @pytest.mark.parametrize(
        ("operation", "on", "type", "action"),
        [
            ("resource.delete", {"resource": ["lake", "raw"]}, "database", "database.drop"),
            ("resource.create", {"parent": ["lake", "raw"]}, "view", "database.create_view"),
            ("database.change_properties", {"database": ["lake", "raw"]}, "database", "database.alter"),
        ],
    )
    def test_a_refused_operation_is_recorded_with_the_action_that_it_needs(
        self,
        world: DeploymentHarness,
        home: OrganizationClient,
        audits: Audits,
        operation: str,
        on: dict[str, list[str]],
        type: str,
        action: str,
    ) -> None:
        need = {"operation": operation, "on": on, "type": type}

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [need]))

        assert answer["allowed"] is False
        assert (only(home, found).action, only(home, found).code) == (action, "refused")

    @pytest.mark.parametrize("on", [{}, {"table": ["lake", "raw", "t"]}, {"table": ["lake"], "parent": ["lake"]}])
    def test_an_operation_on_other_resources_than_its_own_is_malformed(
        self, world: DeploymentHarness, home: OrganizationClient, on: dict[str, list[str]]
    ) -> None:
        need = {"operation": "table.rename", "on": on, "type": "table"}

        assert "malformed" in self.ask(world, home.caller("dan"), [need])["detail"]

    def test_each_refused_need_of_a_statement_is_recorded_once(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        names = ["lake.secret.a", "lake.raw.b", "lake.secret"]
        needs = [{"action": "table.select", "object": each.split(".")} for each in names]
        allowed = {"action": "database.describe", "object": ["lake", "raw"]}

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [allowed, *needs]))

        assert names[0] in answer["message"]
        assert {root for root, _ in found} == {home.opened.id}
        assert sorted(each.resource for _, each in found) == sorted(["lake.secret.a", "lake.secret"])

    def test_a_statement_of_many_refused_needs_makes_few_records(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        needs = [{"action": "table.select", "object": ["lake", "secret", f"t{each}"]} for each in range(50)]

        _, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), needs))

        assert len(found) == 20

    def test_a_path_that_the_guard_refuses_is_recorded_without_its_text(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        need = {"action": "path.read", "path": "s3a://key:secret@bucket/file"}

        _, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [need]))

        record = only(home, found)
        assert (record.action, record.resource, record.code) == ("path.read", "", "refused")

    def test_a_statement_of_a_revoked_token_is_recorded(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        home.add("left")
        left = home.caller("left")
        assert left.token is not None
        home.control.execute(RevokeToken(left.token), None)
        need = {"action": "table.select", "object": ["lake", "raw", "t"]}

        _, found = audits.made_by(lambda: self.ask(world, left, [need]))

        record = only(home, found)
        assert (record.principal, record.action, record.code) == (left.principal, "table.select", "unauthenticated")

    def test_a_question_that_only_filters_what_is_shown_makes_no_record(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        need = {"action": "table.select", "object": ["lake", "secret", "t"]}

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [need], is_filter=True))

        assert (answer["allowed"], found) == (False, [])

    def test_an_allowed_statement_makes_no_record(
        self, world: DeploymentHarness, home: OrganizationClient, audits: Audits
    ) -> None:
        need = {"action": "database.describe", "object": ["lake", "raw"]}

        answer, found = audits.made_by(lambda: self.ask(world, home.caller("dan"), [need]))

        assert (answer["allowed"], found) == (True, [])
