"""Log entries as rows: how they are written, hashed and read."""

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
    """Return the row of a draft that follows the entry with the hash `previous_hash`."""
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
    """Return the hash of a row's content; None if the content is not valid JSON or has values of wrong types."""
    try:
        said = {
            "revision": row.revision,
            "at": _seconds(row.at),
            "actor": row.actor,
            "command": row.command,
            "changes": json.loads(row.changes),
            "previous_hash": row.previous_hash,
        }
        # Entries of schema 0001 (one log) have no origin, grounds and log id, and were hashed without them.
        if row.origin is not None:
            said |= {"log_id": row.log_id, "origin": json.loads(row.origin), "grounds": json.loads(row.grounds)}
        return hash_chain.entry_hash(said)
    except (ValueError, TypeError):
        return None


def chain_fault(row: Row[Any], revision: int, previous: str, where: str) -> str | None:
    """Return why a row is not the unaltered entry of a revision after the entry with the hash `previous`; None if it is.

    `where` names the log in the message, as in "of the log `x`".
    """
    if row.revision != revision:
        return f"revision {revision} {where} is missing"
    if row.hash != hash_of(row):
        return f"revision {revision} {where} was altered"
    if row.previous_hash != previous:
        return (
            f"revision {revision} {where} does not follow the revision before it: one of the two was altered or deleted"
        )
    return None


def _seconds(written: Any) -> float:
    """Return a time as it is hashed. Raises `TypeError` for a text, even for a text of a number."""
    if not isinstance(written, float | int):
        raise TypeError
    return float(written)


def entry_of(row: Row[Any]) -> LogEntry:
    """Return the entry of a row. Raises `UnreadableLogError` for damaged JSON and for unknown content."""
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
    # Both have only text fields; `asdict` looks for nested dataclasses, which takes most of the time of a row.
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
        raise UnreadableLogError(
            f"revision {row.revision} of the log `{row.log_id}` cannot be read: its JSON is damaged; restore a backup from before the damage"
        )
    return value


def _understood(row: Row[Any], read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except (FactsError, TypeError) as error:
        raise UnreadableLogError(
            f"revision {row.revision} of the log `{row.log_id}` has content that this version of Headgate does not know ({error}); "
            "start the version of Headgate that wrote it"
        ) from error
