"""Where a deployment keeps its data and where it listens."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate.spark.toolchain import default_cache, default_jars_folder

HOST = "127.0.0.1"
"""The embedded deployment listens on loopback only."""
API_PORT = 8020
SPARK_PORT = 15002
LAST_PORT = 65535


class SettingsError(Exception):
    """A variable of the environment cannot be used; the message says which and what would be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One embedded deployment. Port 0 takes a free one."""

    folder: Path
    cache: Path
    jars_folder: Path | None
    api_port: int = API_PORT
    gateway_port: int = SPARK_PORT
    owner: str = "owner"

    @property
    def warehouse(self) -> Path:
        """Where the tables' files lie."""
        return self.folder / "warehouse"

    @property
    def owner_token(self) -> Path:
        """The file that keeps the first owner's token, for the command line on this machine."""
        return self.folder / "owner.token"


def default_settings(
    environ: Mapping[str, str],
    *,
    folder: Path | None = None,
    jars_folder: Path | None = None,
    api_port: int | None = None,
    gateway_port: int | None = None,
) -> Settings:
    """Return the settings that the environment names, under those that are given. Raises `SettingsError`."""
    return Settings(
        folder=(folder or Path(environ.get("HEADGATE_DATA") or ".headgate")).absolute(),
        cache=default_cache(environ),
        jars_folder=jars_folder or default_jars_folder(environ),
        api_port=_port(environ, "HEADGATE_API_PORT", API_PORT) if api_port is None else api_port,
        gateway_port=_port(environ, "HEADGATE_SPARK_PORT", SPARK_PORT) if gateway_port is None else gateway_port,
    )


def _port(environ: Mapping[str, str], variable: str, default: int) -> int:
    written = environ.get(variable) or str(default)
    if not written.isdecimal() or int(written) > LAST_PORT:
        raise SettingsError(f"`{written}` in {variable} is not a port; use a number up to {LAST_PORT}, or unset it")
    return int(written)
