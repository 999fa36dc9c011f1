"""Lists: searched, sorted, and a page at a time by a cursor that says where the last one ended."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query

from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError

MAX_PAGE = 500
"""So many entries on one page at most."""


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list is wanted. `sort` is a field, with `-` before it for the other direction."""

    limit: int
    cursor: str | None
    sort: str | None
    q: str | None


def parse_paging(
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="so many entries at most")] = 50,
    cursor: Annotated[Text | None, Query(max_length=2000, description="the `next` of the page before")] = None,
    sort: Annotated[Text | None, Query(max_length=50, description="a field; `-` before it turns round")] = None,
    q: Annotated[Text | None, Query(max_length=200, description="only what has this in a text field")] = None,
) -> Paging:
    """Return which part of a list is wanted."""
    return Paging(limit, cursor, sort, q)


CurrentPaging = Annotated[Paging, Depends(parse_paging)]

Row = Mapping[str, Any]


def page_of_rows(
    rows: Iterable[Row], wanted: Paging, sorts: tuple[str, ...], revision: int, key: str = "id"
) -> dict[str, Any]:
    """Return a page: `items`, `next` (None at the end) and the revision. The first of `sorts` is how it is sorted else.

    `key` is a field that no two rows share, so that no cursor skips or repeats one.
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
        raise ProblemError(422, "invalid", f"this list is sorted by one of {', '.join(sorts)}, not by `{field}`")
    return field, sort.startswith("-")


def _by(field: str, key: str) -> Callable[[Row], tuple[str, str]]:
    return lambda row: (_sortable(row.get(field)), str(row[key]))


def _sortable(value: object) -> str:
    # Numbers by their size, texts without regard to capitals, what is missing first.
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
        raise ProblemError(422, "invalid", "this is no cursor of this list; begin again without one") from None
