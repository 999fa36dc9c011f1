"""Checkpoints of streams that an earlier version stored elsewhere are moved and used."""

from pathlib import Path

from headgate.app.deployment import open_deployment
from headgate.app.folders.checkpoint_folders import move_checkpoints
from tests.app.deployment_harness import settings_in, world_in


def test_checkpoints_of_an_earlier_version_are_moved_into_their_organizations_folder(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        # The id of any resource is valid here.
        beta = world.organization("beta", "nekt")
        capture = beta.call("owner", "POST", "/databases", {"name": "any"}).json()["id"]
        folder = world.deployment.settings.folder / "checkpoints"
    (folder / capture / "0" / "offsets").mkdir(parents=True)
    (folder / "unknown").mkdir()

    open_deployment(settings_in(tmp_path)).close()
    open_deployment(settings_in(tmp_path)).close()

    moved = folder / beta.opened.id / capture
    assert {each.name for each in folder.iterdir()} == {beta.opened.id, "unknown"}
    assert (moved / "0" / "offsets").is_dir()


def test_a_deployment_without_checkpoints_gets_no_checkpoint_folder(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        move_checkpoints(tmp_path / "checkpoints", world.deployment.organizations)

    assert not (tmp_path / "checkpoints").exists()
