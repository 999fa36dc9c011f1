"""The hash chain of a log: each entry has its own hash and the hash of the entry before it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

GENESIS = ""
"""The previous hash of the first entry."""


def canonical_json(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def entry_hash(entry: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of an entry's content, in hex."""
    return hashlib.sha256(canonical_json(entry).encode()).hexdigest()
