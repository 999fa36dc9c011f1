"""The hash chain: each log entry carries the hash of itself and of the one before it."""

import hashlib
import json
from typing import Any

GENESIS = ""
"""What the first entry names as the hash before it."""


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def entry_hash(
    *, revision: int, at: float, actor: str | None, command: str, changes: list[Any], previous_hash: str
) -> str:
    """Return the SHA-256 of an entry's canonical JSON, in hex."""
    entry = {
        "revision": revision,
        "at": float(at),
        "actor": actor,
        "command": command,
        "changes": changes,
        "previous_hash": previous_hash,
    }
    return hashlib.sha256(canonical(entry).encode()).hexdigest()
