"""`headgate break-glass`, on the deployment's own machine."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from headgate.control.deployment.break_glass import break_glass_until
from tests.cli.deployments import deployment_in

PASSWORD, OTHER = "correct horse battery", "another horse entirely"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with its first organization, and the user `ann`."""
    with deployment_in(tmp_path) as deployment:
        deployment.auth_services.authentication.register("ann", login="ann", password=PASSWORD)
    return tmp_path


def run(data: Path, *words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [*words, "--data", str(data)], input=stdin)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("break-glass", "grant", "nobody", "--organization", "main", "--reason", "x"), "no user"),
        (("break-glass", "grant", "ann", "--organization", "nowhere", "--reason", "x"), "no organization"),
        (
            ("break-glass", "grant", "ann", "--organization", "main", "--reason", "x", "--hours", "100"),
            "`--hours` is 100; pass at most 24",
        ),
    ],
)
def test_an_impossible_break_glass_is_one_sentence(data: Path, words: tuple[str, ...], said: str) -> None:
    result = run(data, *words)

    assert result.exit_code == 1
    assert said in result.stderr


def test_break_glass_is_logged_with_its_reason_and_its_end(data: Path) -> None:
    result = run(
        data, "break-glass", "grant", "ann", "--organization", "main", "--hours", "2", "--reason", "the owner has left"
    )
    assert result.exit_code == 0, result.output

    with deployment_in(data) as deployment:
        control = deployment.home.control
        ends = break_glass_until(control.snapshot, control.now)
        assert ends is not None
        assert 7_000 < ends - control.now <= 7_200
        entry = deployment.home.store.entry(control.snapshot.revision)
        assert entry is not None
        assert (entry.command, entry.actor, entry.origin.door) == ("organization.break_glass", None, "operator")
        assert deployment.home.store.document("why", str(entry.revision)) == {"text": "the owner has left"}


def test_a_running_server_sees_the_changes_of_the_command_line(data: Path) -> None:
    with deployment_in(data) as server:
        assert run(data, "break-glass", "grant", "ann", "--organization", "main", "--reason", "x").exit_code == 0

        server.organizations.refresh()
        started = server.auth_services.authentication.log_in("ann", PASSWORD, {})
        assert break_glass_until(server.home.control.snapshot, server.home.control.now)
        assert (
            run(data, "deployment-user", "set-password", "ann", "--password-stdin", stdin=f"{OTHER}\n").exit_code == 0
        )
        server.organizations.refresh()
        assert server.auth_services.authentication.principal_of(started.secret) is None
