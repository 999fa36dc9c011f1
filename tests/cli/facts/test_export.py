"""`headgate facts export`: the log of a data folder, as a file that can be asked."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.deployment import open_deployment
from headgate.app.settings.settings import default_settings
from headgate.cli.every_command import app
from headgate.facts.encoding import read_history


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with its first organization."""
    folder = tmp_path / "data"
    open_deployment(default_settings({}, folder=folder)).close()
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


class TestExport:
    def test_an_export_contains_each_entry_of_the_log(self, folder: Path) -> None:
        states = list(read_history(run("facts", "export", folder).stdout.splitlines()))

        assert [state.facts.revision for state in states] == [1, 2]
        assert states[-1].at is not None

    def test_an_export_contains_no_names(self, tmp_path: Path) -> None:
        settings = default_settings({}, folder=tmp_path / "data")
        open_deployment(settings).close()

        assert f'"{settings.owner}"' not in run("facts", "export", settings.folder).stdout.replace(
            '"role": "owner"', ""
        )

    def test_an_exported_file_answers_questions(self, folder: Path, tmp_path: Path) -> None:
        file = tmp_path / "facts.jsonl"
        file.write_text(run("facts", "export", folder).stdout)
        [principal] = list(read_history(file.read_text().splitlines()))[-1].facts.principals

        assert run("facts", "check", file, "lake.create_database", "lake", "--principal", principal).exit_code == 0

    def test_an_export_works_while_the_folder_is_served(self, folder: Path) -> None:
        deployment = open_deployment(default_settings({}, folder=folder))
        try:
            assert run("facts", "export", folder).exit_code == 0
        finally:
            deployment.close()

    def test_an_export_works_for_existing_organizations_only(self, folder: Path) -> None:
        assert run("facts", "export", folder, "--organization", "deployment").exit_code == 0

        result = run("facts", "export", folder, "--organization", "nobody")
        assert result.exit_code == 2
        assert "no organization has the id `nobody`" in result.stderr

    def test_an_export_of_a_folder_without_a_log_is_refused(self, tmp_path: Path) -> None:
        result = run("facts", "export", tmp_path)

        assert result.exit_code == 2
        assert "is not a data folder: it has no file `headgate.db`" in result.stderr
        assert list(tmp_path.iterdir()) == []
