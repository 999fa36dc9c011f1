"""`headgate agreement`, against a server."""

import json

from headgate.cli.client import ApiError
from tests.cli.api.commands import Commands

WISH = ("agreement", "create", "orders.port", "--purpose", "to plan", "-o", "json")


def test_an_agreement_is_requested_approved_changed_and_terminated(on_mesh: Commands) -> None:
    said = on_mesh.run("ben", "agreement", "create", "orders.port", "--purpose", "to know")
    id = said.split()[1]
    assert "next: `headgate agreement list`" in said
    assert id in on_mesh.run("ann", "agreement", "list", "--state", "requested", "--port", "orders.port")

    assert f"agreement {id} is approved" in on_mesh.run("ann", "agreement", "approve", id, "--until", "2100-01-01")
    assert "2100-01-01 00:00:00+00:00" in on_mesh.run("ben", "agreement", "show", id)
    assert "approved, in force" in on_mesh.run("ben", "agreement", "show", id)
    on_mesh.run("ann", "agreement", "change", id, "--purpose", "to see")
    assert "to see" in on_mesh.run("ben", "agreement", "list")
    assert f"agreement {id} is terminated" in on_mesh.run("ben", "agreement", "terminate", id)
    assert f"agreement {id} is deleted" in on_mesh.run("ann", "agreement", "delete", id)
    assert id not in on_mesh.run("ben", "agreement", "list")


def test_a_request_is_rejected(on_mesh: Commands) -> None:
    id = json.loads(on_mesh.data("ben", *WISH))["id"]

    assert f"agreement {id} is rejected" in on_mesh.run("ann", "agreement", "reject", id)


def test_an_agreement_is_created_for_a_team_without_a_request(on_mesh: Commands) -> None:
    made = json.loads(on_mesh.data("ann", *WISH, "--approved", "--consumer", "ben", "--until", "+30d"))

    assert json.loads(on_mesh.data("ben", "agreement", "show", made["id"], "-o", "json"))["active"] is True


def test_a_dry_run_of_an_agreement_changes_nothing(on_mesh: Commands) -> None:
    before = on_mesh.run("ann", "agreement", "list")

    said = on_mesh.run("ben", "agreement", "create", "orders.port", "--purpose", "to know", "--dry-run")

    assert "dry run: nothing was changed" in said
    assert on_mesh.run("ann", "agreement", "list") == before


def test_a_request_with_an_end_and_a_change_without_a_field_are_refused(on_mesh: Commands) -> None:
    assert "a request for an agreement cannot have an end" in str(
        on_mesh.invoke("ben", *WISH, "--until", "+1d").exception
    )
    nothing = on_mesh.invoke("ben", "agreement", "change", "a_1")
    assert isinstance(nothing.exception, ApiError)
    assert "there is no change; pass `--purpose` or `--until`" in str(nothing.exception)
