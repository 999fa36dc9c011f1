"""The records of the audit as rows, and the questions about them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, insert, select

from headgate.control.ports import AuditFilter, AuditRecord, Origin
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.store.tables import audit

_SAME = ("principal", "action", "resource", "allowed", "door", "request")
"""The parts of a filter that are compared with the column of that name."""


def keep(connection: Connection, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
    """Write records, each with the root of its log."""
    if records:
        connection.execute(insert(audit), [_row(root, record) for root, record in records])


def query(root: ResourceId, wanted: AuditFilter, before: int | None, limit: int) -> Select[Any]:
    """Return the query for the newest records of a log that are wanted, below the number `before`."""
    conditions: list[ColumnElement[bool]] = [audit.c.log_id == root]
    given = {name: getattr(wanted, name) for name in _SAME}
    conditions += [audit.c[name] == _text(value) for name, value in given.items() if value is not None]
    if wanted.since is not None:
        conditions.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(audit.c.at < wanted.until)
    if before is not None:
        conditions.append(audit.c.number < before)
    return select(audit).where(*conditions).order_by(audit.c.number.desc()).limit(limit)


def record_of(row: Row[Any]) -> tuple[int, AuditRecord]:
    """Return a record and its number."""
    return row.number, AuditRecord(
        at=row.at,
        principal=None if row.principal is None else PrincipalId(row.principal),
        action=row.action,
        resource=row.resource,
        allowed=row.allowed,
        revision=row.revision,
        model=row.model,
        code=row.code,
        origin=Origin(row.door, row.request, None if row.token is None else TokenId(row.token)),
    )


def _row(root: ResourceId, record: AuditRecord) -> Mapping[str, Any]:
    row = {
        "log_id": root,
        "at": float(record.at),
        "principal": record.principal,
        "action": record.action,
        "resource": record.resource,
        "allowed": record.allowed,
        "revision": record.revision,
        "model": record.model,
        "code": record.code,
        "door": record.origin.door,
        "request": record.origin.request,
        "token": record.origin.token,
    }
    return {name: _text(value) for name, value in row.items()}


def _text(value: Any) -> Any:
    """Return a value with what no row can hold written out: a name that somebody asked for can be any text."""
    if not isinstance(value, str):
        return value
    return value.encode(errors="backslashreplace").decode().replace("\0", r"\x00")
