"""`headgate secret rotate-key`, as an operator runs it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.deployment import open_deployment
from headgate.cli.every_command import app
from headgate.control.connections.commands import SECRET
from tests.app.deployment_harness import settings_in, world_in

SHOP = {"host": "db.example", "database": "shop", "user": "headgate", "password": "open sesame"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a connection that has a secret."""
    with world_in(tmp_path) as world:
        answer = world.call("owner", "POST", "/connections", {"name": "shop", "postgresql": SHOP})
        assert answer.status_code == 201, answer.text
    return tmp_path / "data"


def run(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(app, ["secret", "rotate-key", "--data", str(folder), *more], env={"COLUMNS": "400"})


def keys(folder: Path) -> list[str]:
    return (folder / "keys" / "secrets.key").read_text().split()


def test_a_rotation_leaves_one_new_key_that_decrypts_the_secrets(folder: Path) -> None:
    before = keys(folder)

    result = run(folder)

    assert result.exit_code == 0, result.output
    assert "1 secrets re-encrypted" in result.output
    assert len(keys(folder)) == 1
    assert keys(folder) != before
    deployment = open_deployment(settings_in(folder.parent))
    ((id, kept),) = deployment.home.store.documents(SECRET).items()
    assert deployment.vault.decrypt(id, kept) == {"password": "open sesame"}
    deployment.close()


def test_former_keys_remain_until_a_rotation_is_resumed(folder: Path) -> None:
    assert run(folder, "--keep-former").exit_code == 0
    assert len(keys(folder)) == 2

    result = run(folder, "--resume")

    assert "the former keys are deleted" in result.output
    assert len(keys(folder)) == 1


def test_a_secret_that_does_not_open_is_shown_and_keeps_the_former_keys(folder: Path) -> None:
    (folder / "keys" / "secrets.key").write_text("00" * 32 + "\n")

    result = run(folder)

    assert result.exit_code == 1
    assert "encrypted with a key that is not in" in result.output
    assert len(keys(folder)) == 2
