"""The models of an organization, upgraded and changed on the deployment's own machine."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from headgate.control.identity.principals import AddPrincipal
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import PrincipalId, ResourceId
from tests.cli.deployments import deployment_in
from tests.control.models.model_files import harbour


def run(folder: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(app, [*(str(word) for word in words), "--data", str(folder)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with the organization `port` under version 1 of `harbour`; version 2 is installed, too."""
    folder = tmp_path / "data"
    with deployment_in(folder) as deployment:
        deployment.auth_services.authentication.register("ada", login="ada")
    _install(folder, tmp_path, harbour(1))
    run(folder, "organization", "create", "port", "--owner", "ada", "--model", "harbour")
    with deployment_in(folder) as deployment:
        port = deployment.organizations.find("port")
        lake = next(id for id, each in port.control.snapshot.resources.items() if each.type == "lake")
        for command in (
            CreateResource(ResourceId("north"), "database", lake, "north"),
            CreateResource(ResourceId("cargo"), "table", ResourceId("north"), "grain"),
            AddPrincipal(PrincipalId("p-ben"), "Ben Docker", "docker", ResourceId("cargo")),
        ):
            port.control.execute(command, None)
    _install(folder, tmp_path, harbour(2, "insert"))
    return folder


def _install(folder: Path, tmp_path: Path, source: str) -> None:
    (tmp_path / "harbour.yaml").write_text(source)
    assert run(folder, "model", "install", tmp_path / "harbour.yaml").exit_code == 0


def version(folder: Path) -> tuple[str, int]:
    """Return the name and the version of the home model of the organization."""
    with deployment_in(folder) as deployment:
        model = deployment.organizations.find("port").control.model
        return model.name, model.version


def test_a_dry_run_names_the_users_and_tables_that_an_upgrade_affects(folder: Path) -> None:
    said = run(folder, "model", "upgrade", "port", "--dry-run")

    assert said.exit_code == 0, said.output
    assert "Ben Docker" in said.stdout
    assert "decisions that flip: 2 (principals: 2, resources: 1)" in said.stdout
    assert said.stdout.endswith("version 2 of the access model `harbour` would decide in `port`\n")
    assert version(folder) == ("harbour", 1)


def test_an_upgrade_without_confirmation_changes_nothing(folder: Path) -> None:
    said = run(folder, "model", "upgrade", "port")

    assert (said.exit_code, "nothing was changed: there is no terminal" in said.stderr) == (2, True)
    assert version(folder) == ("harbour", 1)


def test_a_confirmed_upgrade_is_undone_with_the_earlier_version(folder: Path) -> None:
    upgraded = run(folder, "model", "upgrade", "port", "--yes")
    after = version(folder)
    undone = run(folder, "model", "upgrade", "port", "harbour", "--version", "1", "--yes")

    assert upgraded.stdout.endswith("version 2 of the access model `harbour` decides in `port`\n")
    assert (after, undone.exit_code, version(folder)) == (("harbour", 2), 0, ("harbour", 1))


def test_another_model_is_chosen_with_the_assignments_that_lose_their_meaning(folder: Path) -> None:
    said = run(folder, "organization", "set-model", "port", "nekt", "--yes")

    assert "assignments that lose their meaning: 2" in said.stdout
    assert version(folder)[0] == "nekt"


def test_another_model_is_chosen_for_a_project(folder: Path) -> None:
    said = run(folder, "organization", "set-model", "port", "nekt", "--project", "project", "--yes")

    assert said.exit_code == 0, said.output
    with deployment_in(folder) as deployment:
        assert set(deployment.organizations.find("port").control.snapshot.governs.values()) == {"nekt"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model", "upgrade", "port", "nekt"), "`headgate organization set-model port nekt` chooses it"),
        (("model", "upgrade", "nosuch"), "there is no organization `nosuch`"),
        (("organization", "set-model", "port", "nosuch"), "`nosuch` is not installed"),
        (("organization", "set-model", "port", "nekt", "--project", "nosuch"), "has no project `nosuch`"),
        (("model", "upgrade", "port", "--version", "9"), "version 9 of the access model `harbour` is not installed"),
    ],
)
def test_a_change_that_is_not_possible_is_refused(folder: Path, words: tuple[str, ...], message: str) -> None:
    said = run(folder, *words)

    assert (said.exit_code, message in said.stderr) == (1, True), said.output
