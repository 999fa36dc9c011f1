"""The options that every write over the API shares, against a server."""

import json

from headgate.cli.client import ApiError
from tests.cli.api.commands import Commands

GIVE = ("assignment", "create", "editor", "lake.raw", "--subject", "zed")


def test_a_dry_run_prints_the_gained_actions_by_name_and_changes_nothing(on_lake: Commands) -> None:
    on_lake.place.add("zed")

    said = on_lake.run("ann", *GIVE, "--dry-run")

    assert any("zed" in line and "lake.raw" in line and "database.create_table" in line for line in said.splitlines())
    assert "would be assigned: editor on lake.raw to zed without an end" in said
    assert "dry run: nothing was changed; 1 change would be made" in said
    assert "zed" not in on_lake.run("owner", "assignment", "list", "--resource", "lake.raw")


def test_a_dry_run_shows_a_new_resource_by_its_name(on_lake: Commands) -> None:
    said = on_lake.run("owner", "database", "create", "fresh", "--dry-run")

    assert "fresh" in said
    assert "r_" not in said
    assert "opens" not in said


def test_a_dry_run_without_an_effect_says_so(on_lake: Commands) -> None:
    words = ("assignment", "create", "manager", "lake.raw", "--subject", "ann", "--until", "2100-01-01", "--dry-run")

    assert "no decision would change" in on_lake.run("owner", *words)


def test_a_dry_run_of_a_delete_prints_the_lost_actions(on_lake: Commands) -> None:
    on_lake.place.add("lou")
    on_lake.run("ann", "assignment", "create", "viewer", "lake.raw", "--subject", "lou")

    words = ("assignment", "delete", "viewer", "lake.raw", "--subject", "lou")
    said = on_lake.run("ann", *words, "--dry-run")

    header = next(line for line in said.splitlines() if "loses" in line)
    assert any(line.find("database.describe") == header.find("loses") for line in said.splitlines() if "lou" in line)
    assert "lou" in on_lake.run("owner", "assignment", "list", "--resource", "lake.raw")


def test_a_reason_is_kept_in_the_audit(on_lake: Commands) -> None:
    on_lake.run("owner", "group", "create", "the crew", "--reason", "a crew was hired")

    assert "a crew was hired" in on_lake.run("owner", "audit", "list", "--limit", "500")


def test_a_reason_that_no_header_can_contain_is_refused(on_lake: Commands) -> None:
    done = on_lake.invoke("owner", "group", "create", "x", "--reason", "a\r\nheadgate-why: b")

    assert isinstance(done.exception, ApiError)
    assert "`--reason` has a character that a header cannot contain" in str(done.exception)


def test_json_is_the_answer_of_the_api(on_lake: Commands) -> None:
    made = json.loads(on_lake.data("owner", "group", "create", "json", "-o", "json"))
    foreseen = json.loads(on_lake.data("owner", "group", "delete", "json", "--dry-run", "--output", "json"))

    assert made["id"].startswith("g_")
    assert foreseen["dry_run"] is True
    assert json.loads(on_lake.data("owner", "group", "show", "json", "-o", "json"))["id"] == made["id"]


def test_an_assignment_ends_at_a_time_and_its_role_is_changed(on_lake: Commands) -> None:
    on_lake.place.add("eva")
    words = ("lake.raw", "--subject", "eva")
    on_lake.run("ann", "assignment", "create", "viewer", *words, "--until", "2100-01-01")

    assert "eva holds editor on lake.raw" in on_lake.run(
        "ann", "assignment", "change", "viewer", *words, "--new-role", "editor"
    )
    listed = on_lake.run("ann", "assignment", "list", "--resource", "lake.raw", "--subject", "eva")
    assert "editor" in listed
    assert "2100-01-01" in listed


def test_an_assignment_of_a_request_is_deleted_by_the_id_of_the_request(on_lake: Commands) -> None:
    on_lake.place.add("rex")
    wish = ("request", "create", "database.describe", "lake.raw", "--purpose", "x", "-o", "json")
    id = json.loads(on_lake.data("rex", *wish))["id"]
    on_lake.run("ann", "request", "approve", id)

    on_lake.run("ann", "assignment", "delete", "viewer", "lake.raw", "--subject", "rex", "--request", id)

    assert id not in on_lake.run("ann", "assignment", "list", "--resource", "lake.raw")
