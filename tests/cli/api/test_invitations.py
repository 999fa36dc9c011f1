"""`headgate invitation`, against a server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from tests.app.deployment_harness import DeploymentHarness, world_in

PASSWORD = "correct horse battery"  # noqa: S105 (of this test)
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("invitations")) as opened:
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with a token, or with the session that the command line keeps."""

    def headgate(*words: str, token: str = "", typed: str = "") -> Result:
        monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url).rstrip("/"))
        monkeypatch.delenv("HEADGATE_TOKEN", raising=False)
        if token:
            monkeypatch.setenv("HEADGATE_TOKEN", token)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        return CliRunner().invoke(app, list(words), input=typed)

    return headgate


def invite(world: DeploymentHarness, run: Run, *options: str) -> str:
    created = run("invitation", "create", *options, token=world.tokens["owner"])
    assert created.exit_code == 0, created.output
    return created.stdout.strip()


def test_a_user_of_the_deployment_joins_by_an_invitation(world: DeploymentHarness, run: Run) -> None:
    user = world.deployment.auth_services.authentication.register("ann", login="ann", password=PASSWORD)
    assert run("auth", "login", "ann", "--password-stdin", typed=PASSWORD).exit_code == 0
    assert world.deployment.organizations.of(user) == ()

    joined = run("invitation", "accept", invite(world, run, "--role", "admin"))

    assert joined.stdout == "you are now a member of the organization `main`\n"
    assert {each.role for each in world.control.snapshot.list_assigned_on(world.opened.id) if each.subject == user} == {
        "admin"
    }


def test_a_new_user_joins_by_an_invitation_once(world: DeploymentHarness, run: Run) -> None:
    invitation = invite(world, run)

    first, second = (
        run("invitation", "accept", invitation, "--login", name, "--password-stdin", typed=PASSWORD)
        for name in ("ben", "eve")
    )

    assert first.stdout.startswith(
        "ben is now a member of the organization `main` and logged in; the session is kept in "
    )
    assert second.exit_code == 1
    assert [each.name for each in world.deployment.auth_services.authentication.users() if each.login == "eve"] == []


def test_a_new_user_that_joins_is_logged_in_with_one_session(world: DeploymentHarness, run: Run) -> None:
    run("invitation", "accept", invite(world, run), "--login", "kay", "--password-stdin", typed=PASSWORD)

    assert run("auth", "whoami").stdout.startswith("kay ")
    sessions = world.deployment.auth_services.authentication.sessions
    assert len(list(sessions.of(world.deployment.auth_services.authentication.user_of("kay").principal))) == 1


def test_an_invitation_that_is_withdrawn_lets_no_user_join(world: DeploymentHarness, run: Run) -> None:
    invitation, owner = invite(world, run), world.tokens["owner"]
    (listed,) = [line for line in run("invitation", "list", token=owner).stdout.splitlines() if "member" in line]

    assert run("invitation", "revoke", listed.split()[0], token=owner).exit_code == 0

    assert run("invitation", "accept", invitation, "--login", "kim", "--password-stdin", typed=PASSWORD).exit_code == 1
