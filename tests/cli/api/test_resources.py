"""`headgate resource`, `access` and `model` against a server."""

import json
from pathlib import Path

import pytest

from headgate.cli.client import ApiError
from tests.cli.api.commands import Commands


def test_a_resource_is_created_shown_renamed_moved_and_deleted(on_lake: Commands) -> None:
    on_lake.run("owner", "database", "create", "shop")
    assert "table t is created below lake.raw" in on_lake.run("owner", "resource", "create", "table", "lake.raw", "t")
    shown = on_lake.run("owner", "resource", "show", "lake.raw.t")
    assert "table.select" in shown

    on_lake.run("owner", "resource", "rename", "lake.raw.t", "u")
    on_lake.run("owner", "resource", "move", "lake.raw.u", "lake.shop", "--name", "v")
    assert "lake.shop.v" in on_lake.run("owner", "resource", "list", "--parent", "lake.shop", "--type", "table")
    on_lake.run("owner", "resource", "delete", "lake.shop.v")
    assert "lake.shop.v" not in on_lake.run("owner", "resource", "list")


def test_a_description_is_replaced_and_shown(on_lake: Commands) -> None:
    on_lake.run("owner", "resource", "describe", "lake.raw", "flights, as they come")

    assert on_lake.run("owner", "resource", "describe", "lake.raw") == "flights, as they come\n"
    assert json.loads(on_lake.data("owner", "resource", "describe", "lake.raw", "-o", "json"))["text"]


def test_relations_and_a_document_come_from_files(on_mesh: Commands, tmp_path: Path) -> None:
    details, document = tmp_path / "details.yaml", tmp_path / "document.json"
    details.write_text("relations: {owner: [{to: shop}]}\n")
    document.write_text('{"status": "live"}')

    on_mesh.run("ann", "resource", "create", "data_product", "organization", "sales", "--details-file", str(details))
    on_mesh.run("ann", "resource", "document", "sales", str(document))

    assert "shop" in on_mesh.run("ann", "resource", "show", "sales")
    assert '"status": "live"' in on_mesh.run("ann", "resource", "document", "sales")


def test_attributes_are_changed_from_a_file(on_lake: Commands, tmp_path: Path) -> None:
    file = tmp_path / "details.yaml"
    file.write_text("attributes: {tags: [nightly]}\n")
    on_lake.run("owner", "resource", "create", "table", "lake.raw", "tagged")

    on_lake.run("owner", "resource", "change", "lake.raw.tagged", str(file))

    assert "nightly" in on_lake.run("owner", "resource", "show", "lake.raw.tagged")


def test_a_file_without_fields_is_refused(on_lake: Commands, tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    file.write_text("- 1\n")

    assert "has no fields" in str(on_lake.invoke("owner", "resource", "change", "lake.raw", str(file)).exception)


@pytest.mark.parametrize(("user", "code"), [("ann", 0), ("tom", 1)])
def test_a_check_ends_with_an_exit_code(on_lake: Commands, user: str, code: int) -> None:
    done = on_lake.invoke(user, "access", "check", "database.create_table", "lake.raw", "-o", "json")

    assert done.exit_code == code
    assert json.loads(done.stdout)["allowed"] is (code == 0)


def test_principals_and_resources_of_an_action_are_listed(on_lake: Commands) -> None:
    assert "ann" in on_lake.run("owner", "access", "list-principals", "database.create_table", "lake.raw")
    words = ("access", "list-resources", "database.create_table")
    assert "lake.raw" in on_lake.run("owner", *words, "--principal", "ann")
    assert "lake.raw" not in on_lake.run("tom", *words)


def test_hypothetical_steps_show_the_gained_actions(on_lake: Commands, tmp_path: Path) -> None:
    file = tmp_path / "steps.yaml"
    file.write_text("- assign: {subject: tom, role: manager, resource: lake.raw}\n")

    said = on_lake.run("owner", "access", "what-if", str(file))

    assert any("tom" in line and "database.create_table" in line for line in said.splitlines())
    assert json.loads(on_lake.data("owner", "access", "what-if", str(file), "-o", "json"))["effects"]
    assert isinstance(on_lake.invoke("tom", "access", "what-if", str(file)).exception, ApiError)


def test_models_of_the_server_are_listed_and_shown(on_lake: Commands) -> None:
    assert any("nekt" in line and "yes" in line for line in on_lake.run("tom", "model", "list").splitlines())
    assert "viewer on" in on_lake.run("tom", "model", "show", "nekt")
