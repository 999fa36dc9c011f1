"""No route of the HTTP API discloses whether a resource exists that the caller may not discover."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.control.catalog.tables import CreateTable
from headgate.control.kernel.ports import Pointer
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.server_process import until


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path) as opened:
        table(opened, "raw", "t")
        table(opened, "raw", "hidden")
        opened.call("owner", "POST", "/connections", {"name": "hidden", "folder": str(tmp_path)})
        opened.add("vic")
        opened.add("ed")
        opened.give("ed", "editor", "lake.raw")
        yield opened


def table(world: DeploymentHarness, database: str, name: str) -> None:
    """Create a table without files."""
    layer = world.deployment.home.control.snapshot.find(("lake", database))
    assert layer is not None
    id = ResourceId(f"table_{name}")
    command = CreateTable(layer.id, id, name, Pointer(id, f"file:///nowhere/{id}"))
    world.deployment.home.control.execute(command, world.caller("owner"))


def query(name: str, into: str, *inputs: str) -> dict[str, Any]:
    """Return the definition of a query."""
    return {"kind": "query", "name": name, "into": into, "inputs": inputs or ["lake.raw.t"], "sql": "SELECT 1 AS n"}


def saved_query(name: str) -> dict[str, Any]:
    """Return the definition of a saved query."""
    return {"kind": "saved_query", "name": name, "inputs": ["lake.raw.t"], "sql": "SELECT 1 AS n"}


MADE = re.compile(r"\b[a-z]{1,2}_[0-9a-f]{32}\b")

PEOPLE = [
    ("DELETE", "/users/{}", None),
    ("POST", "/users", {"name": "{}"}),
    ("POST", "/tokens", {"principal": "{}"}),
    ("POST", "/groups", {"name": "{}"}),
    ("PUT", "/groups/{}/members/owner", None),
    ("PUT", "/groups/crew/members/{}", None),
    ("POST", "/assignments", {"subject": "{}", "role": "viewer", "resource": "lake.raw"}),
    ("POST", "/assignments", {"subject": "{}", "role": "admin", "resource": "organization"}),
    ("POST", "/assignments", {"subject": "{}", "role": "nosuch", "resource": "lake.raw"}),
    ("DELETE", "/assignments?subject={}&role=viewer&resource=lake.raw", None),
]


@pytest.mark.parametrize(("method", "path", "body"), PEOPLE)
def test_existing_and_missing_principals_look_alike_to_a_caller_that_manages_no_users(
    world: DeploymentHarness, method: str, path: str, body: dict[str, str] | None
) -> None:
    def asked(name: str) -> tuple[int, str]:
        filled = body and {key: value.format(name) for key, value in body.items()}
        answer = world.http.request(
            method,
            f"/api/v1{path.format(name)}",
            json=filled,
            headers={"authorization": f"Bearer {world.tokens['vic']}"},
        )
        return answer.status_code, answer.text.replace(f"no `{name}` that", "no NAME that")

    world.give("vic", "viewer", "lake.raw")

    assert asked("owner") == asked("nobody") == asked("All")


def test_a_user_may_name_themselves_for_a_token_of_their_own(world: DeploymentHarness) -> None:
    assert world.call("vic", "POST", "/tokens", {"principal": "vic"}).status_code == 201


class TestSaving:
    """Saving a pipeline that names other resources does not disclose which of them exist."""

    def test_saving_a_pipeline_under_a_hidden_name_answers_as_under_a_missing_one(
        self, world: DeploymentHarness
    ) -> None:
        world.give("vic", "viewer", "lake.raw")

        def saved(name: str) -> tuple[int, str]:
            answer = world.call("vic", "PUT", f"/pipelines/{name}", query(name, "lake.raw.q"))
            return answer.status_code, answer.text

        assert saved("hidden") == saved("nosuch")
        assert saved("hidden")[0] == 403

    def test_a_caller_that_may_create_a_pipeline_learns_that_the_name_is_taken(self, world: DeploymentHarness) -> None:
        answer = world.call("ed", "PUT", "/pipelines/hidden", query("hidden", "lake.raw.q"))

        assert answer.status_code == 409

    @pytest.mark.parametrize("kind", ["query", "saved_query"])
    def test_a_dry_run_does_not_reveal_that_a_hidden_name_is_taken(self, world: DeploymentHarness, kind: str) -> None:
        def foreseen(name: str) -> tuple[int, str]:
            given = query(name, "lake.raw.q") if kind == "query" else saved_query(name)
            answer = world.call("ed", "PUT", f"/pipelines/{name}", given, dry_run=True)
            return answer.status_code, MADE.sub("ID", answer.text.replace(name, "NAME"))

        assert foreseen("hidden") == foreseen("nosuch")
        assert foreseen("hidden")[0] == 200

    def test_a_dry_run_reports_a_taken_name_that_the_caller_sees(self, world: DeploymentHarness) -> None:
        body = {"name": "hidden", "folder": "/nowhere"}
        answer = world.call("owner", "POST", "/connections", body, dry_run=True)

        assert answer.status_code == 409

    def test_a_collision_with_a_hidden_name_is_recorded_in_the_audit(self, world: DeploymentHarness) -> None:
        assert world.call("ed", "PUT", "/pipelines/hidden", saved_query("hidden")).status_code == 409

        def kept() -> list[dict[str, Any]]:
            items = world.call("owner", "GET", "/audit/decisions").json()["items"]
            return [each for each in items if each["code"] == "taken"]

        (found,) = until(kept, lambda: "the collision is not in the audit")
        assert (found["allowed"], found["action"]) == (False, "PUT /pipelines/{pipeline}")

    def test_saving_a_pipeline_into_a_hidden_table_answers_as_into_a_missing_one(
        self, world: DeploymentHarness
    ) -> None:
        world.give("vic", "viewer", "lake.raw.t")

        def saved(name: str) -> tuple[int, str]:
            answer = world.call("vic", "PUT", "/pipelines/q", query("q", f"lake.raw.{name}"))
            return answer.status_code, answer.text

        assert saved("hidden") == saved("nosuch")


class TestAnOutputThatIsNotThereYet:
    """An output that does not exist yet is as hidden as the database in which the pipeline will create it."""

    def test_a_pipeline_into_a_hidden_database_is_hidden_despite_rights_on_its_inputs(
        self, world: DeploymentHarness
    ) -> None:
        assert world.call("owner", "PUT", "/pipelines/q", query("q", "lake.secret.new")).status_code == 200

        assert world.call("ed", "GET", "/pipelines/q").status_code == 404
        assert world.call("ed", "POST", "/pipelines/q/runs").status_code == 404
        assert world.call("ed", "PUT", "/pipelines/q", query("q", "lake.raw.new")).status_code == 409

    def test_a_source_is_hidden_if_one_of_its_tables_lies_in_a_hidden_database(self, world: DeploymentHarness) -> None:
        streams = [{"name": name, "file": "a.csv", "into": f"lake.{name}.t"} for name in ("raw", "secret")]
        source = {"kind": "source", "name": "load", "connection": "hidden", "streams": streams}
        assert world.call("owner", "PUT", "/pipelines/load", source).status_code == 200

        assert world.call("ed", "GET", "/pipelines/load").status_code == 404

    def test_an_editor_of_the_inputs_and_of_the_output_database_runs_the_pipeline(
        self, world: DeploymentHarness
    ) -> None:
        world.give("ed", "editor", "lake.secret")

        assert world.call("owner", "PUT", "/pipelines/q", query("q", "lake.secret.new")).status_code == 200
        assert world.call("ed", "POST", "/pipelines/q/runs").status_code == 202


class TestAnotherOrganization:
    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [("POST", "/api/v1/sql", {"statement": "SELECT 1"})],
    )
    def test_an_organization_without_spark_runs_no_sql_at_its_address(
        self, world: DeploymentHarness, method: str, path: str, body: Any
    ) -> None:
        other = world.organization("elsewhere", "nekt")
        headers = {"authorization": f"Bearer {other.tokens['owner']}"}

        answer = world.http.request(method, f"/o/elsewhere{path}", json=body, headers=headers)

        assert answer.status_code == 404
        assert answer.json()["type"].endswith("no-spark")
