"""Where a deployment keeps its data and where it listens."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headgate.spark.toolchain import default_cache, default_jars_folder

HOST = "127.0.0.1"
"""The embedded deployment listens on loopback only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One embedded deployment. Port 0 takes a free one."""

    folder: Path
    cache: Path
    jars_folder: Path | None
    api_port: int = 8020
    gateway_port: int = 15002
    owner: str = "owner"

    @property
    def warehouse(self) -> Path:
        """Where the tables' files lie."""
        return self.folder / "warehouse"

    @property
    def owner_token(self) -> Path:
        """The file that keeps the first owner's token, for the command line on this machine."""
        return self.folder / "owner.token"


def default_settings(environ: Mapping[str, str] = os.environ, **given: object) -> Settings:
    """Return the settings that the environment names, with what is given (and not None) put over them."""
    settings = Settings(
        folder=Path(environ.get("HEADGATE_DATA", ".headgate")).absolute(),
        cache=default_cache(environ),
        jars_folder=default_jars_folder(environ),
        api_port=int(environ.get("HEADGATE_API_PORT", "8020")),
        gateway_port=int(environ.get("HEADGATE_SPARK_PORT", "15002")),
    )
    return replace(settings, **{key: value for key, value in given.items() if value is not None})
