"""A home folder for the server of each fuzzing run."""

import os
import secrets
from pathlib import Path

import pytest

from headgate.spark.toolchain.prepare import default_cache


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder for the server, with files that attackers search for.

    Only the server knows the name of its parent folder.
    """
    cache = default_cache(os.environ)
    home = tmp_path / f"place{secrets.token_hex(8)}" / "home"
    for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", "passwords.csv"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("password,secret\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HEADGATE_CACHE", str(cache))
    (tmp_path / "alias").symlink_to(home.parent)
    return home
