"""Checks the data folder: its permissions, and the free disk space."""

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
    """Check that this user can use the data folder, and that no other user can read it."""
    folder, what = settings.folder, "data folder"
    if not folder.exists():
        yield Finding(what, "ok", f"`{folder}` does not exist yet; `headgate serve` creates it")
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield build_failure(
            what, f"this user cannot read and write `{folder}`", f"change its owner: chown -R $(id -u) {folder}"
        )
    elif folder.stat().st_mode & _OTHERS:
        yield warning(what, f"`{folder}` can be read by other users of this machine", f"chmod 700 {folder}")
    else:
        yield Finding(what, "ok", f"only this user can read `{folder}`")


def check_secrets(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that no other user of the machine can read the keys and the owner's token."""
    files = [settings.owner_token, settings.seal_key, settings.vault_key]
    files += [settings.tls_key] if settings.tls_key else []
    there = [file for file in files if file.exists()]
    for file in there:
        if file.stat().st_mode & _OTHERS:
            yield warning("secrets", f"`{file}` can be read by other users of this machine", f"chmod 600 {file}")
        else:
            yield Finding("secrets", "ok", f"only this user can read `{file}`")


def check_disk(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that the disks have free space for the log and the cache."""
    for what, folder in (("disk of the data", settings.folder), ("disk of the cache", settings.cache)):
        free = shutil.disk_usage(_nearest(folder)).free
        seen = f"{free / (1 << 30):.1f} GiB free at `{folder}`"
        if free < _HARDLY_ANY:
            yield build_failure(
                what, seen, "free disk space, because Headgate refuses every change that it cannot write to the store"
            )
        elif free < _FEW:
            yield warning(what, seen, "free disk space")
        else:
            yield Finding(what, "ok", seen)


def _nearest(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())
