"""The data folder: who can read it, and whether there is room."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings

_OTHERS = 0o077
_FEW = 1 << 30
_HARDLY_ANY = 100 << 20


def data_folder(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look whether the data folder can be used, and by its owner alone."""
    folder, what = settings.folder, "data folder"
    if not folder.exists():
        yield Finding(what, "ok", f"`{folder}` is not there yet; `headgate serve` makes it")
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield build_failure(
            what, f"`{folder}` cannot be read and written", f"give it to this user: chown -R $(id -u) {folder}"
        )
    elif folder.stat().st_mode & _OTHERS:
        yield warning(what, f"`{folder}` can be read by other users of this machine", f"chmod 700 {folder}")
    else:
        yield Finding(what, "ok", f"`{folder}`, for this user alone")


def check_secrets(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look whether others can read what only the server may."""
    files = [settings.owner_token, settings.seal_key, settings.vault_key]
    files += [settings.tls_key] if settings.tls_key else []
    there = [file for file in files if file.exists()]
    for file in there:
        if file.stat().st_mode & _OTHERS:
            yield warning("secrets", f"`{file}` can be read by other users of this machine", f"chmod 600 {file}")
        else:
            yield Finding("secrets", "ok", f"`{file}`, for this user alone")


def check_disk(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look whether there is room for the log to grow."""
    for what, folder in (("disk of the data", settings.folder), ("disk of the cache", settings.cache)):
        free = shutil.disk_usage(_nearest(folder)).free
        seen = f"{free / (1 << 30):.1f} GiB free at `{folder}`"
        if free < _HARDLY_ANY:
            yield build_failure(what, seen, "make room: a log that cannot be written refuses every change")
        elif free < _FEW:
            yield warning(what, seen, "make room")
        else:
            yield Finding(what, "ok", seen)


def _nearest(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())
