"""Audit records as rows: how they are stored, filtered and read."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, insert, select

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import RequestOrigin
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.store.database import escape_unstorable
from headgate.store.tables import audit

_COLUMNS = [column.name for column in audit.columns if not column.primary_key]

_SAME = ("principal", "action", "allowed", "door", "request")
"""The fields of a filter that are compared with the column of the same name."""


def store_records(connection: Connection, records: Sequence[tuple[ResourceId, AuditRecord]]) -> None:
    """Store records, each with the root of its log."""
    if not records:
        return
    # The rows go to the database driver unprocessed: SQLAlchemy's look at each value takes longer than the write.
    statement = insert(audit).compile(dialect=connection.dialect, column_keys=_COLUMNS)
    rows = [_row(root, record) for root, record in records]
    given = rows if statement.positional else [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    connection.exec_driver_sql(str(statement), given)


def query(root: ResourceId, wanted: AuditFilter, before: int | None, limit: int) -> Select[Any]:
    """Return the query for the newest records of a log that match `wanted`, those with a number below `before`."""
    conditions: list[ColumnElement[bool]] = [audit.c.log_id == root]
    given = {name: getattr(wanted, name) for name in _SAME}
    conditions += [audit.c[name] == escape_unstorable(value) for name, value in given.items() if value is not None]
    if wanted.resource is not None:
        names = (wanted.resource,) if isinstance(wanted.resource, str) else wanted.resource
        conditions.append(audit.c.resource.in_([escape_unstorable(each) for each in names]))
    if wanted.since is not None:
        conditions.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(audit.c.at < wanted.until)
    if before is not None:
        conditions.append(audit.c.number < before)
    return select(audit).where(*conditions).order_by(audit.c.number.desc()).limit(limit)


def record_of(row: Row[Any]) -> tuple[int, AuditRecord]:
    """Return the number and the audit record of a row."""
    return row.number, AuditRecord(
        at=row.at,
        principal=None if row.principal is None else PrincipalId(row.principal),
        action=row.action,
        resource=row.resource,
        allowed=row.allowed,
        revision=row.revision,
        model=row.model,
        code=row.code,
        origin=RequestOrigin(row.door, row.request, None if row.token is None else TokenId(row.token)),
    )


def _row(root: ResourceId, record: AuditRecord) -> tuple[Any, ...]:
    origin = record.origin
    return (
        root,
        float(record.at),
        escape_unstorable(record.principal),
        escape_unstorable(record.action),
        escape_unstorable(record.resource),
        record.allowed,
        record.revision,
        record.model,
        record.code,
        origin.door,
        escape_unstorable(origin.request),
        escape_unstorable(origin.token),
    )
