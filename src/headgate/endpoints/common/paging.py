"""Pagination: lists are filtered, sorted and returned page by page, with a cursor at the end of the previous page."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query

from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError

MAX_PAGE = 500
"""The maximum number of entries on a page."""


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested part of a list. `sort` is a field; a `-` before it reverses the order. `q` is a text to search for."""

    limit: int
    cursor: str | None
    sort: str | None
    q: str | None


def parse_paging(
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="maximum number of entries")] = 50,
    cursor: Annotated[Text | None, Query(max_length=2000, description="the `next` of the previous page")] = None,
    sort: Annotated[
        Text | None, Query(max_length=50, description="field to sort by; `-` before it reverses the order")
    ] = None,
    q: Annotated[
        Text | None, Query(max_length=200, description="only entries with this text in one of their text fields")
    ] = None,
) -> Paging:
    """Return the paging that a request asks for."""
    return Paging(limit, cursor, sort, q)


CurrentPaging = Annotated[Paging, Depends(parse_paging)]

Row = Mapping[str, Any]


def page_of_rows(
    rows: Iterable[Row], wanted: Paging, sorts: tuple[str, ...], revision: int, key: str = "id"
) -> dict[str, Any]:
    """Return a page: `items`, `next` (None at the end) and the revision.

    `sorts` are the fields to sort by; the first is the default. `key` is a field that is unique among the rows, so that no
    cursor skips or repeats a row. Raises `ProblemError` 422 for another field in `sort`, and for an invalid cursor.
    """
    field, reverse = _order(wanted.sort or sorts[0], sorts)
    matching = [row for row in rows if wanted.q is None or _has(row, wanted.q.casefold())]
    matching.sort(key=_by(field, key), reverse=reverse)
    if wanted.cursor is not None:
        after = _read(wanted.cursor)
        order = _by(field, key)
        matching = [row for row in matching if (order(row) < after if reverse else order(row) > after)]
    items = matching[: wanted.limit]
    more = len(matching) > wanted.limit
    return {"items": items, "next": _format_cursor(_by(field, key)(items[-1])) if more else None, "revision": revision}


def _order(sort: str, sorts: tuple[str, ...]) -> tuple[str, bool]:
    field = sort.removeprefix("-")
    if field not in sorts:
        raise ProblemError(
            422, "invalid", f"the list cannot be sorted by `{field}`; set `sort` to one of {', '.join(sorts)}"
        )
    return field, sort.startswith("-")


def _by(field: str, key: str) -> Callable[[Row], tuple[str, str]]:
    return lambda row: (_sortable(row.get(field)), str(row[key]))


def _sortable(value: object) -> str:
    # Numbers by their value, texts case-insensitively, missing values first.
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:030.6f}"
    return "" if value is None else str(value).casefold()


def _has(row: Row, text: str) -> bool:
    return any(text in value.casefold() for value in row.values() if isinstance(value, str))


def _format_cursor(at: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(at).encode()).decode()


def _read(cursor: str) -> tuple[str, str]:
    try:
        field, key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return str(field), str(key)
    except (ValueError, TypeError, RecursionError):
        raise ProblemError(
            422,
            "invalid",
            "`cursor` is not valid; send the `next` of the previous page, or leave `cursor` out for the first page",
        ) from None
