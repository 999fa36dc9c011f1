"""`headgate deployment-user`, on the deployment's own machine."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.settings.settings import default_settings
from headgate.cli.every_command import app

PASSWORD, OTHER = "correct horse battery", "another horse entirely"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    open_deployment(default_settings({}, folder=tmp_path)).close()
    return tmp_path


def opened(data: Path) -> Deployment:
    return open_deployment(default_settings({}, folder=data))


def run(data: Path, *words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [*words, "--data", str(data)], input=stdin)


def create(data: Path, *words: str) -> Result:
    return run(data, "deployment-user", "create", "ann", "--password-stdin", *words, stdin=f"{PASSWORD}\n")


def test_a_user_is_created_listed_and_gets_another_password(data: Path) -> None:
    assert create(data, "--email", "Ann@acme.com").exit_code == 0
    assert "ann@acme.com" in run(data, "deployment-user", "list").output
    assert run(data, "deployment-user", "set-password", "ANN", "--password-stdin", stdin=f"{OTHER}\n").exit_code == 0

    deployment = opened(data)
    try:
        assert deployment.auth_services.authentication.log_in("ann", OTHER, {})
    finally:
        deployment.close()


def test_a_user_can_be_created_without_a_password(data: Path) -> None:
    assert run(data, "deployment-user", "create", "ann", "--without-password", "--email", "ann@acme.com").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("deployment-user", "create", "ann", "--without-password"), "taken"),
        (("deployment-user", "create", "../ann", "--password-stdin"), "the login name is invalid; use 1 to"),
        (("deployment-user", "set-password", "nobody", "--password-stdin"), "no user"),
    ],
)
def test_an_impossible_change_of_a_user_is_one_sentence(data: Path, words: tuple[str, ...], said: str) -> None:
    create(data)
    result = run(data, *words, stdin=f"{PASSWORD}\n")

    assert result.exit_code == 1
    assert said in result.stderr


def test_creating_a_user_without_a_deployment_is_refused(tmp_path: Path) -> None:
    assert create(tmp_path).exit_code == 2


def test_a_password_is_read_from_the_standard_input_only_with_the_option(data: Path) -> None:
    result = run(data, "deployment-user", "create", "bob")

    assert result.exit_code == 2
    assert "there is no terminal to ask for the password; use `--password-stdin`" in result.stderr
