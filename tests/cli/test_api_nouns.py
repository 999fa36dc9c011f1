"""Users, programs, groups, teams, projects and connections: show, change and delete, against a server."""

import json
from pathlib import Path

import pytest

from headgate.cli.client import ApiError
from tests.app.deployment_harness import DeploymentHarness
from tests.cli.api.commands import Commands


@pytest.fixture
def on_spaces(monkeypatch: pytest.MonkeyPatch, url: str, deployment: DeploymentHarness) -> Commands:
    return Commands(monkeypatch, url, deployment.organization("spaces", "y42"))


def test_a_user_is_shown_with_groups_and_roles(on_lake: Commands) -> None:
    on_lake.run("owner", "group", "create", "readers")
    on_lake.run("owner", "group", "add-member", "readers", "tom")

    shown = on_lake.run("owner", "user", "show", "tom")

    assert "readers" in shown
    assert "viewer on lake.raw" in shown
    assert "tom" in on_lake.run("owner", "group", "list-members", "readers")
    on_lake.run("owner", "group", "remove-member", "readers", "tom")


def test_a_group_is_renamed_shown_and_deleted(on_lake: Commands) -> None:
    on_lake.run("owner", "group", "create", "old")
    on_lake.run("owner", "group", "rename", "old", "new")

    assert "new" in on_lake.run("owner", "group", "show", "new")
    assert "group new is deleted" in on_lake.run("owner", "group", "delete", "new")


def test_a_service_principal_is_changed_and_shown(on_lake: Commands) -> None:
    on_lake.run("owner", "service-principal", "create", "robot")
    on_lake.run("owner", "service-principal", "change", "robot", "--name", "crane", "--until", "2100-01-01")

    assert "2100-01-01" in on_lake.run("owner", "service-principal", "show", "crane")
    nothing = on_lake.invoke("owner", "service-principal", "change", "crane")
    assert "there is no change" in str(nothing.exception)
    on_lake.run("owner", "service-principal", "delete", "crane")


def test_a_team_is_created_renamed_moved_shown_and_deleted(on_mesh: Commands) -> None:
    on_mesh.run("owner", "team", "create", "north", "--domain")
    on_mesh.run("owner", "team", "create", "crew", "--parent", "north")
    on_mesh.run("owner", "team", "rename", "north.crew", "hands")
    on_mesh.run("owner", "team", "move", "north.hands", "organization")
    on_mesh.run("owner", "team", "add-member", "hands", "ben", "--role", "member")

    assert "ben (member)" in on_mesh.run("owner", "team", "show", "hands")
    shown = json.loads(on_mesh.run("owner", "team", "show", "hands", "-o", "json"))
    assert [(each["name"], each["role"]) for each in shown["members"]] == [("ben", "member")]
    assert "ben" in on_mesh.run("owner", "team", "list-members", "hands")
    on_mesh.run("owner", "team", "remove-member", "hands", "ben")
    on_mesh.run("owner", "team", "delete", "hands")
    assert "hands" not in on_mesh.run("owner", "team", "list")


def test_a_project_is_renamed_shown_and_deleted(on_spaces: Commands) -> None:
    on_spaces.run("owner", "project", "create", "one")
    on_spaces.run("owner", "project", "rename", "one", "two")

    assert "y42" in on_spaces.run("owner", "project", "show", "two")
    on_spaces.run("owner", "project", "delete", "two")
    assert "two" not in on_spaces.run("owner", "project", "list")


def test_a_connection_is_deleted(on_lake: Commands, tmp_path: Path) -> None:
    on_lake.run("owner", "connection", "create", "drop", str(tmp_path))

    assert json.loads(on_lake.data("owner", "connection", "show", "drop", "-o", "json"))["name"] == "drop"
    assert "connection drop is deleted" in on_lake.run("owner", "connection", "delete", "drop")
    assert isinstance(on_lake.invoke("owner", "connection", "show", "drop").exception, ApiError)
