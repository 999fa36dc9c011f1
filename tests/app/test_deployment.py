"""Opening a data folder: the facts survive a restart, and a folder that cannot be used is refused in one sentence."""

import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest

from headgate.app.deployment import open_deployment
from headgate.app.settings.settings import default_settings
from headgate.control.kernel.ports import StoreError
from tests.app.deployment_harness import settings_in, world_in
from tests.app.server_process import HEADGATE
from tests.store.tampered_store import rehash


def test_a_restart_gives_the_same_snapshot(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        world.add("vic")
        world.give("vic", "viewer", "lake.raw")
        before = world.deployment.home.control.snapshot

    reopened = open_deployment(settings_in(tmp_path))

    assert reopened.home.control.snapshot == before
    reopened.close()


def test_the_file_of_the_owners_token_is_readable_by_its_user_only(tmp_path: Path) -> None:
    opened = open_deployment(settings_in(tmp_path))
    opened.close()

    mode = settings_in(tmp_path).owner_token.stat().st_mode

    assert stat.S_IMODE(mode) == 0o600


def test_a_data_folder_with_another_model_is_refused(tmp_path: Path) -> None:
    open_deployment(settings_in(tmp_path)).close()
    with sqlite3.connect(tmp_path / "data" / "headgate.db") as database:
        database.execute('UPDATE log SET changes = replace(changes, \'"model_hash":"\', \'"model_hash":"0\')')
        database.execute('UPDATE log SET changes = replace(changes, \'"model_hash": "\', \'"model_hash": "0\')')
    for root in ("deployment", "organization"):
        rehash(tmp_path / "data", root)

    with pytest.raises(
        StoreError, match="uses a version of the access model `deployment` that this deployment does not have"
    ):
        open_deployment(settings_in(tmp_path))


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to be looked at"])
def test_an_invalid_database_file_is_reported_in_one_line(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "headgate.db").write_bytes(content or b"\0" * 4096)

    ended = subprocess.run(
        [str(HEADGATE), "serve", "--data", str(folder), "--api-port", "0"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1


def test_a_data_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = subprocess.run(
        [str(HEADGATE), "serve", "--data", str(tmp_path / "file" / "data"), "--api-port", "0"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1


def test_a_first_start_with_an_unknown_model_is_refused_with_the_setting(tmp_path: Path) -> None:
    settings = default_settings({"HEADGATE_MODEL": "nektt"}, folder=tmp_path)

    with pytest.raises(StoreError, match=r"the model of `HEADGATE_MODEL` cannot be used .* `nektt` is not installed"):
        open_deployment(settings)
