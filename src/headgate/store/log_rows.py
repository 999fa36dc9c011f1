"""Log entries as rows: what is written, what is hashed, and what is read back."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import Row

from headgate.control.kernel.ports import LOCAL, Authorization, LogEntry, LogWrite, RequestOrigin, UnreadableLogError
from headgate.facts.encoding import FactsError, decode, encode
from headgate.facts.ids import PrincipalId
from headgate.store import hash_chain

T = TypeVar("T")


def row_of(log_id: str, revision: int, draft: LogWrite, previous_hash: str) -> dict[str, Any]:
    """Return the row of a draft that follows the entry with this hash."""
    said = {
        "log_id": log_id,
        "revision": revision,
        "at": float(draft.at),
        "actor": draft.actor,
        "command": draft.command,
        "changes": [encode(change) for change in draft.changes],
        "origin": _plain(draft.origin),
        "grounds": [_plain(ground) for ground in draft.grounds],
        "previous_hash": previous_hash,
    }
    written = {name: hash_chain.canonical_json(said[name]) for name in ("changes", "origin", "grounds")}
    return said | written | {"hash": hash_chain.entry_hash(said)}


def hash_of(row: Row[Any]) -> str | None:
    """Return the hash that the row's content has; None for content that cannot be read."""
    try:
        said = {
            "revision": row.revision,
            "at": _seconds(row.at),
            "actor": row.actor,
            "command": row.command,
            "changes": json.loads(row.changes),
            "previous_hash": row.previous_hash,
        }
        # An entry from before there were several logs was hashed without what it did not have.
        if row.origin is not None:
            said |= {"log_id": row.log_id, "origin": json.loads(row.origin), "grounds": json.loads(row.grounds)}
        return hash_chain.entry_hash(said)
    except (ValueError, TypeError):
        return None


def _seconds(written: Any) -> float:
    """Return a time as it is hashed. Raises `TypeError` for a text, even for one that says a number."""
    if not isinstance(written, float | int):
        raise TypeError
    return float(written)


def entry_of(row: Row[Any]) -> LogEntry:
    """Return the entry of a row. Raises `UnreadableLogError` for one that cannot be read or understood."""
    return LogEntry(
        revision=row.revision,
        at=row.at,
        actor=None if row.actor is None else PrincipalId(row.actor),
        command=row.command,
        changes=tuple(_understood(row, decode, each) for each in _read(row, row.changes, list)),
        origin=LOCAL if row.origin is None else _understood(row, _origin, _read(row, row.origin, dict)),
        grounds=()
        if row.grounds is None
        else tuple(_understood(row, _ground, each) for each in _read(row, row.grounds, list)),
        hash=row.hash,
        previous_hash=row.previous_hash,
    )


def _plain(record: RequestOrigin | Authorization) -> dict[str, Any]:
    # Both hold words only; `asdict` would look for more, in most of the time that a row takes.
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _origin(said: Mapping[str, Any]) -> RequestOrigin:
    return RequestOrigin(**said)


def _ground(said: Mapping[str, Any]) -> Authorization:
    return Authorization(**said)


def _read(row: Row[Any], text: str, kind: type[T]) -> T:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise UnreadableLogError(f"revision {row.revision} of the log cannot be read; restore a copy from before it")
    return value


def _understood(row: Row[Any], read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except (FactsError, TypeError) as error:
        raise UnreadableLogError(
            f"revision {row.revision} of the log cannot be understood ({error}); "
            "start the version of Headgate that wrote it"
        ) from error
