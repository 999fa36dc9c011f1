"""`headgate log`: seals, and the proof of every log."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.deployment import open_deployment
from headgate.app.settings.settings import default_settings
from headgate.cli.every_command import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with its first organization."""
    folder = tmp_path / "data"
    open_deployment(default_settings({}, folder=folder)).close()
    return folder


@pytest.fixture
def tamper(folder: Path) -> Callable[[str], None]:
    """Write into the store behind its back."""

    def tamper(*statements: str) -> None:
        with closing(sqlite3.connect(folder / "headgate.db")) as file, file:
            for statement in statements:
                file.execute(statement)

    return tamper


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


class TestVerify:
    def test_log_verify_reports_the_last_valid_revision_of_each_log(self, folder: Path) -> None:
        result = run("log", "verify", "--data", folder)

        assert result.exit_code == 0
        assert "the log `deployment` is intact up to revision" in result.stdout
        assert "the log `organization` is intact up to revision" in result.stdout
        assert "not sealed" not in result.stdout

    def test_log_verify_ends_with_the_first_altered_revision(self, folder: Path, tamper: Callable[[str], None]) -> None:
        tamper("UPDATE log SET actor = 'somebody' WHERE log_id = 'organization' AND revision = 2")

        result = run("log", "verify", "--data", folder)

        assert result.exit_code == 1
        assert "revision 2 of the log `organization` was altered; " in result.stderr

    def test_log_verify_refuses_truncated_logs_until_an_operator_accepts_them(
        self, folder: Path, tamper: Callable[..., None]
    ) -> None:
        tamper("DELETE FROM log WHERE revision > 1", "DELETE FROM seals")

        result = run("log", "verify", "--data", folder)

        assert result.exit_code == 1
        assert "differs from the log that this deployment sealed at revision" in result.stderr
        assert "run `headgate log accept`" in result.stderr
        accepted = run("log", "accept", "--data", folder)
        assert accepted.exit_code == 0
        assert "the log `deployment` is intact up to revision 1, not sealed" in accepted.stdout
        assert run("log", "verify", "--data", folder).exit_code == 0

    def test_log_verify_works_while_the_folder_is_served(self, folder: Path) -> None:
        deployment = open_deployment(default_settings({}, folder=folder))
        try:
            assert run("log", "verify", "--data", folder).exit_code == 0
        finally:
            deployment.close()

    def test_log_verify_creates_nothing_in_a_folder_without_a_store(self, tmp_path: Path) -> None:
        result = run("log", "verify", "--data", tmp_path)

        assert result.exit_code == 2
        assert list(tmp_path.iterdir()) == []


class TestAccept:
    def test_log_accept_refuses_an_altered_log(self, folder: Path, tamper: Callable[[str], None]) -> None:
        before = (folder / "keys" / "log.seals.jsonl").read_text()
        tamper("UPDATE log SET actor = 'somebody' WHERE log_id = 'organization' AND revision = 2")

        result = run("log", "accept", "--data", folder)

        assert result.exit_code == 1
        assert "revision 2 of the log `organization` was altered; " in result.stderr
        assert (folder / "keys" / "log.seals.jsonl").read_text() == before


class TestSeal:
    def test_an_exported_seal_reveals_a_cut_that_the_store_does_not_show(
        self, folder: Path, tmp_path: Path, tamper: Callable[..., None]
    ) -> None:
        elsewhere = tmp_path / "seals.jsonl"
        elsewhere.write_text(run("log", "seal", "--data", folder).stdout)
        tamper("DELETE FROM log WHERE revision > 1", "DELETE FROM seals WHERE revision > 1")
        (folder / "keys" / "log.seals.jsonl").unlink()

        assert run("log", "verify", "--data", folder).exit_code == 0
        result = run("log", "verify", "--data", folder, "--seal", elsewhere)

        assert result.exit_code == 1
        assert "was deleted: it ends at revision 1, but a seal (the signed checksum) of revision" in result.stderr

    def test_a_seal_of_a_replaced_key_remains_valid(self, folder: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "seals.jsonl"
        elsewhere.write_text(run("log", "seal", "--data", folder).stdout)

        assert run("log", "rotate-key", "--data", folder).exit_code == 0

        assert run("log", "verify", "--data", folder, "--seal", elsewhere).exit_code == 0

    def test_an_invalid_seal_file_is_refused(self, folder: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "seals.jsonl"
        elsewhere.write_text("{}")

        result = run("log", "verify", "--data", folder, "--seal", elsewhere)

        assert result.exit_code == 1
        assert "line 1 of the file is not a seal" in result.stderr
