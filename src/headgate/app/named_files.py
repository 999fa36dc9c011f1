"""Every file and folder that the settings name, from the settings' own definitions: no connection reaches them."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from headgate.app.settings import Settings
from headgate.app.variable import CONFIG, FILE, FILE_KINDS, Variable
from headgate.app.variables import VARIABLES
from headgate.pipelines.server_files import ServerFiles

_IN_STORE_URL = ("passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl")
"""The parameters of a store's URL that name files."""


def server_files(settings: Settings, environ: Mapping[str, str]) -> ServerFiles:
    """Return what the settings of this process name, where they come from, and where the command line keeps sessions."""
    clusters = tuple(settings.clusters.find(name) for name in settings.clusters.names)
    named = (*_paths(settings), *(path for each in clusters for path in _paths(each)))
    owned = (settings.warehouse, settings.seal_key, settings.vault_key, settings.owner_token)
    found = (*named, *owned, *_named(environ), *_of_store(settings.store_url), operator_folder(environ))
    return ServerFiles(tuple(dict.fromkeys(found)))


def operator_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder in which the command line keeps the sessions of this machine's user."""
    home = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "headgate"


def _named(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that variables of the environment and keys of the configuration file name."""
    config = environ.get(CONFIG, "")
    written = {**_keys(config), **environ}
    for name in (name for variable in VARIABLES for name in _names(variable)):
        if written.get(name):
            yield Path(written[name])


def _names(variable: Variable) -> Iterator[str]:
    """Yield the names under which a setting names a file."""
    if variable.kind in FILE_KINDS:
        yield from (variable.name, variable.key)
    if variable.secret:
        yield from (variable.name + FILE, variable.key + FILE.lower())


def _keys(config: str) -> Mapping[str, str]:
    if not config:
        return {}
    try:
        content = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}  # the settings themselves have said that it cannot be read
    return {key: value for key, value in content.items() if isinstance(value, str)}


def _paths(found: Any) -> Iterator[Path]:
    """Yield every path in a dataclass and those in it."""
    if isinstance(found, Path):
        yield found
    elif is_dataclass(found) and not isinstance(found, type):
        for field in fields(found):
            yield from _paths(getattr(found, field.name))


def _of_store(url: str | None) -> Iterator[Path]:
    parts = conninfo_to_dict(url) if url else {}
    for name in _IN_STORE_URL:
        if parts.get(name):
            yield Path(str(parts[name]))
