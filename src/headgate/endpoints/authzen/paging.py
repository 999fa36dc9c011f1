"""Paging of a search: results in the order of their ids, and an opaque token for the next page."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from headgate.endpoints.authzen.messages import BadRequestError, optional

MOST = 1000
"""The largest number of results on a page, and the default."""

_NOT_OURS = "`page.token` is not valid; send the `next_token` of the previous page, or no token for the first page"


class SearchPage(NamedTuple):
    """The page that a request asks for: at most `limit` results after the result `after` (None: from the first)."""

    after: str | None
    limit: int
    request: str
    """A digest of the search: a token is valid only for the search that it was issued for."""


def parse_page(source: Mapping[str, Any]) -> SearchPage:
    """Return the page that a request asks for. Raises `BadRequestError` for an invalid limit or token."""
    found, request = optional(source, "page"), _digest(source)
    limit = _limit(found)
    token = found.get("token")
    if token is None or token == "":
        return SearchPage(None, MOST if limit is None else limit, request)
    before = _read(token)
    if before.request != request or limit not in (None, before.limit):
        raise BadRequestError(
            "`page.token` belongs to another search; change only `page.token` in the request of the previous page, or leave "
            "the token out for the first page"
        )
    return before


def page_of(names: Sequence[str], page: SearchPage) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Return the names on a page, and the `page` object of the response. `names` are sorted."""
    rest = [name for name in names if page.after is None or name > page.after]
    here = rest[: page.limit]
    more = len(rest) > len(here)
    last = here[-1] if here else page.after
    token = _token(page._replace(after=last)) if more else ""
    return here, {"next_token": token, "count": len(here), "total": len(names)}


def _limit(found: Mapping[str, Any]) -> int | None:
    limit = found.get("limit")
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise BadRequestError("`page.limit` is not a whole number of 0 or more; correct it")
    return min(limit, MOST)


def _digest(source: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in source.items() if key != "page"}
    return hashlib.blake2b(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS), digest_size=12).hexdigest()


def _token(page: SearchPage) -> str:
    return urlsafe_b64encode(orjson.dumps(list(page))).decode()


def _read(token: object) -> SearchPage:
    try:
        after, limit, request = orjson.loads(urlsafe_b64decode(token if isinstance(token, str) else ""))
    except (ValueError, TypeError):  # not base64, not JSON, not a list of three
        raise BadRequestError(_NOT_OURS) from None
    known = (after is None or isinstance(after, str)) and isinstance(limit, int) and isinstance(request, str)
    if not known or not 0 <= limit <= MOST:
        raise BadRequestError(_NOT_OURS)
    return SearchPage(after, limit, request)
