"""The hash chain: each log entry carries the hash of itself and of the one before it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

GENESIS = ""
"""What the first entry names as the hash before it."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def entry_hash(entry: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of everything that an entry says, in hex."""
    return hashlib.sha256(canonical_json(entry).encode()).hexdigest()
