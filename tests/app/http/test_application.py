"""The HTTP API over the real core and store, without Spark."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.facts.caller import Caller
from headgate.spark.sessions.signature import sign
from tests.app.deployment_harness import KEY, DeploymentHarness, world_in


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path) as opened:
        yield opened


class TestTokens:
    def test_a_request_without_a_valid_token_is_refused(self, world: DeploymentHarness) -> None:
        for path in ("/me", "/users", "/groups", "/resources", "/assignments", "/audit", "/pipelines", "/tokens"):
            for headers in ({}, {"authorization": "Bearer hgt.t_x.y"}, {"authorization": "Basic eDp5"}):
                answer = world.http.get(f"/api/v1{path}", headers=headers)

                assert answer.status_code == 401
                assert answer.headers["content-type"] == "application/problem+json"

    def test_a_token_secret_is_shown_once_and_stored_as_a_hash(self, world: DeploymentHarness) -> None:
        token = world.tokens["owner"]

        database = world.deployment.settings.folder / "headgate.db"
        everything = b"".join(path.read_bytes() for path in database.parent.glob("headgate.db*"))

        assert token.split(".")[2].encode() not in everything
        assert "hash" not in json.dumps(world.call("owner", "GET", "/tokens").json())

    def test_a_revoked_token_is_refused_at_once(self, world: DeploymentHarness) -> None:
        world.add("vic")
        token = world.call("vic", "GET", "/tokens").json()["items"][0]["id"]

        assert world.call("vic", "DELETE", f"/tokens/{token}").status_code == 200
        assert world.call("vic", "GET", "/me").status_code == 401

    def test_a_token_of_a_deleted_user_is_refused(self, world: DeploymentHarness) -> None:
        world.add("vic")

        assert world.call("owner", "DELETE", "/users/vic").status_code == 200
        assert world.call("vic", "GET", "/me").status_code == 401

    def test_an_admin_cannot_issue_a_token_for_an_owner(self, world: DeploymentHarness) -> None:
        world.add("adi", "admin")

        answer = world.call("adi", "POST", "/tokens", {"principal": "owner"})

        assert answer.status_code == 403

    def test_a_member_can_issue_tokens_for_their_own_account_only(self, world: DeploymentHarness) -> None:
        world.add("vic")
        world.add("sam")

        assert world.call("vic", "POST", "/tokens", {"principal": "sam"}).status_code == 404
        assert world.call("vic", "POST", "/tokens", {}).status_code == 201


class TestHiddenAndMissing:
    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/questions", {"action": "database.describe", "resource": "lake.{}"}),
            ("POST", "/assignments", {"subject": "vic", "role": "viewer", "resource": "lake.{}"}),
            ("GET", "/pipelines/{}", None),
            ("POST", "/pipelines/{}/runs", None),
            ("DELETE", "/connections/{}", None),
        ],
    )
    def test_a_hidden_resource_and_a_missing_one_get_the_same_answer(
        self, world: DeploymentHarness, method: str, path: str, body: dict[str, str] | None
    ) -> None:
        world.add("vic")
        folder = str(world.deployment.settings.folder)
        world.call("owner", "POST", "/connections", {"name": "files", "folder": folder})
        hidden_name = "secret" if body else "files"

        def asked(name: str) -> tuple[int, str]:
            filled = {key: value.format(name) for key, value in body.items()} if body else None
            answer = world.call("vic", method, path.format(name), filled)
            return answer.status_code, answer.text.replace(name, "NAME")

        assert asked(hidden_name) == asked("nosuchthing")
        assert asked(hidden_name)[0] == 404

    def test_lists_leave_out_hidden_resources(self, world: DeploymentHarness) -> None:
        world.add("vic")
        world.give("vic", "viewer", "lake.raw")

        names = [each["name"] for each in world.call("vic", "GET", "/resources").json()["items"]]
        held = [each["resource"] for each in world.call("vic", "GET", "/assignments").json()["items"]]

        assert names == ["lake", "lake.raw"]
        assert set(held) == {"lake.raw", "organization"}


class TestAssignments:
    def test_a_revoked_assignment_changes_the_next_answer(self, world: DeploymentHarness) -> None:
        world.add("vic")
        ask = {"action": "database.describe", "resource": "lake.raw"}
        assert world.give("vic", "viewer", "lake.raw").status_code == 201
        assert world.call("vic", "POST", "/questions", ask).json()["allowed"]

        world.call("owner", "DELETE", "/assignments", subject="vic", role="viewer", resource="lake.raw")

        assert world.call("vic", "POST", "/questions", ask).status_code == 404

    def test_a_manager_can_grant_editor_but_not_manager(self, world: DeploymentHarness) -> None:
        world.add("max")
        world.add("vic")
        world.give("max", "manager", "lake.raw")

        assert world.give("vic", "editor", "lake.raw", by="max").status_code == 201
        assert world.give("vic", "manager", "lake.raw", by="max").status_code == 403

    def test_an_explanation_names_the_fixes_and_their_approvers(self, world: DeploymentHarness) -> None:
        world.add("vic")
        world.give("vic", "viewer", "lake.raw")

        answer = world.call(
            "vic", "POST", "/questions/explain", {"action": "database.alter", "resource": "lake.raw"}
        ).json()

        assert not answer["allowed"]
        assert answer["fixes"] == [
            {"assignments": [{"role": "editor", "resource": "lake.raw", "approvers": ["owner"]}]}
        ]

    def test_an_assignment_of_an_unknown_role_or_user_changes_nothing(self, world: DeploymentHarness) -> None:
        before = world.deployment.home.control.snapshot.revision

        assert world.give("nobody", "viewer", "lake.raw").status_code == 404
        assert world.give("owner", "king", "lake.raw").status_code == 422
        assert world.call("owner", "POST", "/assignments", {"subject": 1}).status_code == 422
        assert world.deployment.home.control.snapshot.revision == before


class TestTheLog:
    def test_the_audit_log_has_the_actor_of_each_change_and_stores_no_names(self, world: DeploymentHarness) -> None:
        world.add("vic")
        world.give("vic", "viewer", "lake.raw")

        entries = world.call("owner", "GET", "/audit").json()["items"]

        assert [entry["revision"] for entry in entries] == list(range(1, len(entries) + 1))
        assert entries[-1]["names"][entries[-1]["actor"]] == "owner"
        assert entries[-1]["changes"][0]["change"] == "RoleAssigned"
        stored = [change for entry in world.deployment.home.store.entries() for change in entry.changes]
        assert "vic" not in repr(stored)

    def test_the_audit_log_is_refused_to_a_member(self, world: DeploymentHarness) -> None:
        world.add("vic")

        assert world.call("vic", "GET", "/audit").status_code == 403


class TestPipelines:
    def definition(self, **changed: object) -> dict[str, object]:
        stream = {"name": "a", "file": "a.csv", "into": "lake.raw.a"}
        return {"kind": "source", "name": "load", "connection": "files", "streams": [stream], **changed}

    def test_saving_a_pipeline_needs_privileges_on_the_layer_and_the_connection(
        self, world: DeploymentHarness, tmp_path: Path
    ) -> None:
        world.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)})
        world.add("ed")

        def save() -> int:
            return world.call("ed", "PUT", "/pipelines/load", self.definition()).status_code

        assert save() == 404
        world.give("ed", "editor", "lake.raw")
        assert save() == 404
        world.give("ed", "connection_user", "files")
        assert save() == 200

    def test_a_pipeline_runs_as_the_user_that_saved_it_last(self, world: DeploymentHarness, tmp_path: Path) -> None:
        world.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)})
        world.call("owner", "PUT", "/pipelines/load", self.definition())
        world.add("ed", "admin")

        world.call("ed", "PUT", "/pipelines/load", self.definition())

        assert world.call("owner", "GET", "/pipelines").json()["items"][0]["run_as"] == "ed"

    @pytest.mark.parametrize(
        "changed",
        [
            {"streams": [{"name": "a", "file": "../etc/passwd", "into": "lake.raw.a"}]},
            {"streams": [{"name": "a", "file": "a.csv", "into": "raw.a"}]},
            {"streams": [{"name": "a", "file": "a.csv", "into": "lake.raw.a", "extra": 1}]},
            {"kind": "sauce"},
            {"name": "other"},
        ],
    )
    def test_an_invalid_definition_is_refused_with_a_reason(
        self, world: DeploymentHarness, tmp_path: Path, changed: dict[str, object]
    ) -> None:
        world.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)})

        answer = world.call("owner", "PUT", "/pipelines/load", self.definition(**changed))

        assert answer.status_code == 422
        assert answer.json()["detail"]

    def test_a_resource_that_is_no_pipeline_has_no_definition(self, world: DeploymentHarness) -> None:
        assert world.call("owner", "GET", "/pipelines/lake").status_code == 404

    def test_a_run_waits_in_the_queue_for_a_worker(self, world: DeploymentHarness, tmp_path: Path) -> None:
        world.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)})
        world.call("owner", "PUT", "/pipelines/load", self.definition())

        answer = world.call("owner", "POST", "/pipelines/load/runs")

        assert answer.status_code == 202
        assert world.call("owner", "GET", f"/runs/{answer.json()['run']}").json()["state"] == "queued"
        assert not world.deployment.home.control.snapshot.runs


class TestTheGuardsDoor:
    def asked(
        self,
        world: DeploymentHarness,
        caller: Caller,
        needs: list[object],
        *,
        key: bytes = KEY,
        operation: str | None = None,
    ) -> object:
        handle = world.sessions.open(caller, "s")
        body = json.dumps({"needs": needs, "operation": operation}).encode()
        at = int(time.time())
        headers = {
            "authorization": f"Bearer {handle}",
            "x-headgate-time": str(at),
            "x-headgate-signature": sign(key, "POST", "/guard/v1/decide", at, handle, body),
        }
        answer = world.http.post("/guard/v1/decide", content=body, headers=headers)
        return answer.json() if answer.status_code == 200 else answer.status_code

    def test_the_guard_endpoint_answers_a_driver_about_its_sessions(self, world: DeploymentHarness) -> None:
        need = {"action": "database.describe", "object": ["lake", "raw"]}
        world.add("vic")

        assert self.asked(world, world.caller("owner"), [need])["allowed"] is True  # type: ignore[index]
        refused = self.asked(world, world.caller("vic"), [need])
        assert refused["allowed"] is False  # type: ignore[index]
        assert "lake.raw" in refused["message"]  # type: ignore[index]

    def test_the_guard_endpoint_records_allowed_operations_and_returns_the_principal(
        self, world: DeploymentHarness
    ) -> None:
        works = world.sparks.of(world.deployment.home).works
        need = {"action": "database.describe", "object": ["lake", "raw"]}
        world.add("vic")

        for who in ("owner", "vic"):
            answer = self.asked(world, world.caller(who), [need], operation="op")
            assert answer["principal"] == who  # type: ignore[index]

        assert len(works) == 1

    def test_the_guard_endpoint_records_the_needs_of_a_followed_operation(self, world: DeploymentHarness) -> None:
        followed = world.sparks.result_privileges.register("followed")
        need = {"action": "database.describe", "object": ["lake", "raw"]}
        world.add("vic")

        self.asked(world, world.caller("owner"), [need], operation="followed")

        assert followed.refusal(world.caller("owner")) is None
        assert "lake.raw" in str(followed.refusal(world.caller("vic")))

    def test_the_guard_endpoint_refuses_a_caller_without_the_key(self, world: DeploymentHarness) -> None:
        need = {"action": "database.describe", "object": ["lake", "raw"]}

        assert self.asked(world, world.caller("owner"), [need], key=b"x" * 32) == 401
        assert world.http.post("/guard/v1/decide", json={"needs": [need]}).status_code == 401

    def test_the_guard_endpoint_refuses_malformed_and_unknown_needs(self, world: DeploymentHarness) -> None:
        owner = world.caller("owner")

        assert self.asked(world, owner, [{"action": "table.select"}]) == 422
        assert self.asked(world, owner, [{"action": "table.select", "object": ["lake"], "more": 1}]) == 422
        unknown = self.asked(world, owner, [{"action": "table.fly", "object": ["lake", "raw", "t"]}])
        assert unknown["allowed"] is False  # type: ignore[index]

    def test_a_path_cannot_be_read_outside_a_run(self, world: DeploymentHarness, tmp_path: Path) -> None:
        answer = self.asked(world, world.caller("owner"), [{"action": "path.read", "path": str(tmp_path)}])

        assert answer["allowed"] is False  # type: ignore[index]
