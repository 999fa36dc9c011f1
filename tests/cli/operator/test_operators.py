"""`headgate operator`, on the deployment's own machine."""

from pathlib import Path

from typer.testing import CliRunner

from headgate.cli.every_command import app
from tests.cli.deployments import deployment_in


def test_a_user_that_is_not_an_operator_is_not_removed_as_one(tmp_path: Path) -> None:
    with deployment_in(tmp_path) as deployment:
        deployment.auth_services.authentication.register("ben", login="ben")

    done = CliRunner().invoke(app, ["operator", "remove", "ben", "--data", str(tmp_path)])

    assert done.exit_code == 1
    assert done.stderr == "headgate: `ben` is not an operator; `headgate operator list` shows the operators\n"
