"""`headgate request`, against a server."""

import json

import pytest

from headgate.cli.client import ApiError
from tests.cli.api.commands import Commands

WISH = ("database.create_table", "lake.raw", "--purpose", "to load flights")


def created(on_lake: Commands) -> str:
    """Create a request of tom and return its id."""
    return str(json.loads(on_lake.data("tom", "request", "create", *WISH, "-o", "json"))["id"])


def test_a_created_request_names_the_approvers_and_the_next_command(on_lake: Commands) -> None:
    said = on_lake.run("vic", "request", "create", *WISH)

    assert said.startswith("request q_")
    assert "it can be approved with editor on lake.raw, which" in said
    assert "ann" in said
    assert "next: `headgate request list`" in said


def test_a_request_for_a_hidden_resource_names_no_approver(on_lake: Commands) -> None:
    said = on_lake.run("vic", "request", "create", "table.select", "lake.secret.salaries", "--purpose", "to know")

    assert "approved with" not in said
    assert "next: `headgate request list`" in said


def test_a_request_that_no_user_can_approve_is_created_with_a_warning(on_lake: Commands) -> None:
    said = on_lake.run("vic", "request", "create", "table.select", "lake.raw", "--purpose", "to know")

    assert (
        "warning: no user can approve it, because the access model does not define `table.select` on `lake.raw`" in said
    )


def test_a_request_on_a_resource_that_every_member_knows_is_created_without_a_warning(on_lake: Commands) -> None:
    said = on_lake.run("vic", "request", "create", "lake.create_database", "lake", "--purpose", "to know")

    assert "warning" not in said


def test_a_request_is_listed_shown_approved_until_a_time_and_gives_the_role(on_lake: Commands) -> None:
    id = str(json.loads(on_lake.data("vic", "request", "create", *WISH, "-o", "json"))["id"])
    assert id in on_lake.run("vic", "request", "list", "--own")
    assert id not in on_lake.run("vic", "request", "list", "--waiting")
    assert id in on_lake.run("ann", "request", "list", "--waiting", "--resource", "lake.raw")
    assert "your approval" in on_lake.run("ann", "request", "show", id)

    said = on_lake.run("ann", "request", "approve", id, "--until", "2100-01-01", "--reason", "vic loads flights")

    assert f"your approval of request {id} is recorded: the missing assignments" in said
    assert "vic holds editor on lake.raw until 2100-01-01" in said
    assert "approved" in on_lake.run("vic", "request", "show", id)
    given = on_lake.place.call("owner", "GET", "/assignments", subject="vic", role="editor").json()["items"]
    assert [each["ends"] for each in given] == [4102444800.0]


def test_a_dry_run_of_an_approval_shows_the_gained_actions_and_changes_nothing(on_lake: Commands) -> None:
    id = created(on_lake)

    said = on_lake.run("ann", "request", "approve", id, "--dry-run")

    assert any("tom" in line and "lake.raw" in line and "database.create_table" in line for line in said.splitlines())
    assert "dry run: nothing was changed" in said
    assert json.loads(on_lake.data("tom", "request", "show", id, "-o", "json"))["state"] == "requested"


def test_a_request_is_rejected(on_lake: Commands) -> None:
    id = created(on_lake)

    assert f"request {id} is rejected" in on_lake.run("ann", "request", "reject", id)
    assert json.loads(on_lake.data("tom", "request", "show", id, "-o", "json"))["state"] == "rejected"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("approve", "q_1", "--until", "soon"), "`soon` is not a time"),
        (("approve", "q_1"), "there is no open request `q_1`"),
        (("reject", ""), "a name or an id is empty"),
        (("create", *WISH, "--reason", "a\nb"), "`--reason` has a character that a header cannot contain"),
    ],
)
def test_a_wrong_request_is_refused(on_lake: Commands, words: tuple[str, ...], said: str) -> None:
    done = on_lake.invoke("vic", "request", *words)

    assert isinstance(done.exception, ApiError)
    assert said in str(done.exception)
