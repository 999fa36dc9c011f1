"""The sessions that the command line keeps, by the address of the deployment, in a file of the user's own."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headgate.app.named_files import operator_folder


def kept_session(address: str, environ: Mapping[str, str]) -> str | None:
    """Return the session for an address, or None if there is none, or it has ended.

    A session is good in every organization of its deployment (`.../o/{organization}`).
    """
    found = _find(_read(_file(environ)), address)
    return str(found[1]["session"]) if found else None


def keep(address: str, session: str, ends: float, environ: Mapping[str, str]) -> Path:
    """Keep a session for an address until it ends (seconds since the epoch); returns where."""
    file = _file(environ)
    _write(file, {**_read(file), address: {"session": session, "ends": ends}})
    return file


def forget(address: str, environ: Mapping[str, str]) -> None:
    """Drop the session that `kept_session` returns for an address."""
    file = _file(environ)
    kept = _read(file)
    found = _find(kept, address)
    if found is not None:
        _write(file, {key: each for key, each in kept.items() if key != found[0]})


def _find(kept: Mapping[str, Any], address: str) -> tuple[str, Any] | None:
    """Return the address that a session was kept for, and the session: the organization's own, or its deployment's."""
    keys = dict.fromkeys((address, address.partition("/o/")[0]))
    return next(((key, kept[key]) for key in keys if key in kept and kept[key]["ends"] > time.time()), None)


def _file(environ: Mapping[str, str]) -> Path:
    return operator_folder(environ) / "sessions.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # Lost or damaged: whoever it was logs in again.
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, kept: Mapping[str, Any]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    # Nobody else's to read from the first byte on; and whole, or as it was.
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as text:
        json.dump(kept, text)
    new.replace(file)
