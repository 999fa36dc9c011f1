"""The folder of the command line in a user's home. Light to import: every command reads its session from it."""

from collections.abc import Mapping
from pathlib import Path


def operator_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder in which the command line saves the sessions of the user."""
    home = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "headgate"
