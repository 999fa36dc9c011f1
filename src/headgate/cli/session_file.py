"""The saved login sessions of the command line: one for each deployment, in a private file of the user.

A session is valid in every organization of its deployment, so URLs that differ only in `/o/{organization}` share one. The
hosts `localhost`, `127.0.0.1` and `[::1]` count as one host.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from headgate.app.settings.operator_folder import operator_folder
from headgate.cli.deployment_url import deployment_of
from headgate.control.kernel.private_files import replace_private_file

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def kept_session(address: str, environ: Mapping[str, str]) -> str | None:
    """Return the session for a URL, or None if there is none or it has expired."""
    kept, now = _read(_file(environ)), time.time()
    found = [each for key, each in kept.items() if _is_same(key, address) and each["ends"] > now]
    return str(max(found, key=lambda each: each["ends"])["session"]) if found else None


def save_session(address: str, session: str, ends: float, environ: Mapping[str, str]) -> Path:
    """Save a session for a URL until it `ends` (seconds since the epoch); return the file."""
    file = _file(environ)
    _write(file, {**_others(_read(file), address), _deployment(address): {"session": session, "ends": ends}})
    return file


def forget(address: str, environ: Mapping[str, str]) -> None:
    """Delete the saved session for a URL."""
    file = _file(environ)
    _write(file, _others(_read(file), address))


def _others(kept: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Return the sessions of other deployments."""
    return {key: each for key, each in kept.items() if not _is_same(key, address)}


def _is_same(one: str, other: str) -> bool:
    """Whether two URLs are of one deployment."""
    return _deployment(one) == _deployment(other)


def _deployment(address: str) -> str:
    """Return the normal form of a deployment's URL."""
    url = httpx.URL(deployment_of(address))
    return str(url.copy_with(host="localhost") if url.host in _LOOPBACK else url).rstrip("/")


def _file(environ: Mapping[str, str]) -> Path:
    return operator_folder(environ) / "sessions.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # Missing or damaged: the user logs in again.
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, kept: Mapping[str, Any]) -> None:
    replace_private_file(file, json.dumps(kept).encode())
