"""`headgate audit`, against a server."""

import json

from headgate.cli.client import ApiError
from tests.cli.api.commands import Commands
from tests.threads import wait_until


def test_entries_have_their_actor_endpoint_and_reason(on_lake: Commands) -> None:
    on_lake.run("vic", "request", "create", "table.select", "lake.raw.t", "--purpose", "x", "--reason", "an audit")

    for since in ("2020-01-01T00:00:00Z", "2020-01-01", "-7d"):
        said = on_lake.run("owner", "audit", "list", "--actor", "vic", "--endpoint", "api", "--since", since)

        assert any("vic" in line and "an audit" in line for line in said.splitlines())


def test_a_page_names_the_option_for_the_next_page(on_lake: Commands) -> None:
    done = on_lake.invoke("owner", "audit", "list", "--limit", "1", "-o", "json")

    assert len(json.loads(done.stdout)) == 1
    assert "there are more entries; `--after 1` shows the next" in done.stderr


def test_denied_calls_are_listed(on_lake: Commands) -> None:
    assert on_lake.invoke("vic", "database", "create", "mine").exit_code == 1

    def lists_the_denial() -> bool:
        said = on_lake.run("owner", "audit", "list-decisions", "--principal", "vic", "--limit", "5")
        return any("vic" in line and "denied:" in line for line in said.splitlines())

    # A background thread writes the record.
    wait_until(lists_the_denial)


def test_a_user_without_the_action_reads_no_audit(on_lake: Commands) -> None:
    assert isinstance(on_lake.invoke("vic", "audit", "list").exception, ApiError)
