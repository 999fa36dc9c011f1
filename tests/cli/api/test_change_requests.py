"""`headgate change-request`, against a server."""

import json
from pathlib import Path

import pytest

from headgate.cli.client import ApiError
from headgate.control.access.switches import ChangeSetting
from tests.cli.api.commands import Commands


@pytest.fixture(autouse=True)
def change_process(on_mesh: Commands) -> None:
    root = on_mesh.place.control.snapshot.organization
    assert root
    on_mesh.place.control.execute(ChangeSetting(root, "change_process", "true"), None)


def test_a_change_request_is_created_listed_shown_approved_and_makes_the_change(on_mesh: Commands) -> None:
    said = on_mesh.run(
        "tim", "change-request", "create", "orders", "--description", "all orders", "--reason", "to tell"
    )
    id = said.split()[2]
    assert "next: `headgate change-request list`" in said
    assert id in on_mesh.run("ann", "change-request", "list", "--state", "requested", "--resource", "orders")
    shown = on_mesh.run("ann", "change-request", "show", id)
    assert "all orders" in shown
    assert "to tell" in shown

    assert f"change request {id} is approved" in on_mesh.run("ann", "change-request", "approve", id)
    assert on_mesh.place.call("ann", "GET", "/resources/orders/description").json()["text"] == "all orders"


def test_a_change_request_from_a_file_is_rejected(on_mesh: Commands, tmp_path: Path) -> None:
    file = tmp_path / "change.yaml"
    file.write_text("description: other\n")
    words = ("change-request", "create", "orders", "--change-file", str(file), "-o", "json")
    id = json.loads(on_mesh.data("tim", *words))["id"]

    assert f"change request {id} is rejected" in on_mesh.run("ann", "change-request", "reject", id)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no change"),
        ("[1]", "is not a change"),
        ("{", "is not valid YAML"),
        ("gone", "there is no file"),
    ],
)
def test_a_wrong_change_is_refused(on_mesh: Commands, tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "change.yaml"
    if text not in (None, "gone"):
        file.write_text(str(text))

    done = on_mesh.invoke("tim", "change-request", "create", "orders", *(("--change-file", str(file)) if text else ()))

    assert isinstance(done.exception, ApiError)
    assert said in str(done.exception)
