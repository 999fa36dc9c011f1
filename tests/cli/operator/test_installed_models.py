"""Access models, installed and removed on the deployment's own machine."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from headgate.control.models.installations import list_installed
from tests.cli.deployments import deployment_in
from tests.control.models.model_files import harbour


def run(folder: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(app, [*(str(word) for word in words), "--data", str(folder)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with the user `ada` of the deployment."""
    with deployment_in(tmp_path / "data") as deployment:
        deployment.auth_services.authentication.register("ada", login="ada")
    return tmp_path / "data"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A model file."""
    file = tmp_path / "harbour.yaml"
    file.write_text(harbour(1))
    return file


def installed(folder: Path) -> set[str]:
    with deployment_in(folder) as deployment:
        return set(list_installed(deployment.organizations.deployment.control.snapshot))


def test_an_installed_model_is_chosen_for_an_organization(folder: Path, file: Path) -> None:
    said = run(folder, "model", "install", file)
    created = run(folder, "organization", "create", "port", "--owner", "ada", "--model", "harbour")

    assert said.stdout.startswith("version 1 of the access model `harbour` is installed\n")
    assert created.exit_code == 0, created.output
    with deployment_in(folder) as deployment:
        assert deployment.organizations.find("port").control.model.name == "harbour"


def test_a_dry_run_installs_and_removes_nothing(folder: Path, file: Path) -> None:
    foreseen = run(folder, "model", "install", file, "--dry-run")
    assert (foreseen.stdout, "harbour" in installed(folder)) == (
        "version 1 of the access model `harbour` would be installed\n",
        False,
    )

    run(folder, "model", "install", file)
    removed = run(folder, "model", "remove", "harbour", "--dry-run")
    assert (removed.stdout, "harbour" in installed(folder)) == (
        "the access model `harbour` would be removed\n",
        True,
    )


def test_the_installed_models_are_listed_with_the_organizations_that_use_them(folder: Path, file: Path) -> None:
    run(folder, "model", "install", file)
    run(folder, "organization", "create", "port", "--owner", "ada", "--model", "harbour")

    listed = [" ".join(line.split()) for line in run(folder, "model", "list-installed").stdout.splitlines()]
    assert "harbour 1 1 port" in listed
    assert any(line.startswith("nekt ") and line.endswith("yes main") for line in listed)


def test_an_earlier_version_that_is_installed_again_is_told_to_be_the_current_one(folder: Path, file: Path) -> None:
    run(folder, "model", "install", file)
    file.write_text(harbour(2, "insert"))
    run(folder, "model", "install", file)
    file.write_text(harbour(1))

    said = run(folder, "model", "install", file).stdout
    assert "it is the current version again, although version 2 is installed, too" in said


def test_a_model_without_an_owner_role_founds_no_organization(folder: Path, file: Path) -> None:
    file.write_text(
        harbour(1).replace(
            "roles: [master, docker], on: [organization, lake", "roles: [docker], on: [organization, lake"
        )
    )
    run(folder, "model", "install", file)

    refused = run(folder, "organization", "create", "port", "--owner", "ada", "--model", "harbour")
    assert (refused.exit_code, "`harbour` has no owner role" in refused.stderr) == (1, True)


def test_a_model_is_installed_once(folder: Path, file: Path) -> None:
    run(folder, "model", "install", file)

    assert (
        run(folder, "model", "install", file).stdout == "version 1 of the access model `harbour` is installed already\n"
    )


def test_a_file_with_mistakes_is_refused_with_their_places(folder: Path, file: Path) -> None:
    file.write_text(harbour(1).replace("holder: master", "holder: mister"))

    result = run(folder, "model", "install", file)
    assert (result.exit_code, f"{file}:" in result.stderr, "did you mean `master`" in result.stderr) == (1, True, True)


def test_a_missing_file_is_refused(folder: Path, tmp_path: Path) -> None:
    result = run(folder, "model", "install", tmp_path / "nosuch.yaml")

    assert (result.exit_code, "there is no file" in result.stderr) == (2, True)


def test_a_model_in_use_is_not_removed(folder: Path, file: Path) -> None:
    run(folder, "model", "install", file)
    run(folder, "organization", "create", "port", "--owner", "ada", "--model", "harbour")

    result = run(folder, "model", "remove", "harbour")
    assert (result.exit_code, "`harbour` is in use in `port`" in result.stderr) == (1, True)


def test_a_model_that_no_organization_uses_is_removed(folder: Path, file: Path) -> None:
    run(folder, "model", "install", file)

    assert run(folder, "model", "remove", "harbour").stdout == "the access model `harbour` is removed\n"
    assert "harbour" not in installed(folder)
