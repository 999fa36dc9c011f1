"""Asking an HTTP API: what lies below its own address and nothing else, bounded, tried again where that can help."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlencode

from headgate.pipelines.connections.base_address import is_below
from headgate.pipelines.connections.http_answers import (
    AnswerBounds,
    AnswerError,
    BrokenAnswerError,
    HttpAnswer,
    HttpReader,
    OversizedAnswerError,
)
from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.load_errors import EndedError, LoadError
from headgate.pipelines.loading.paging import (
    Answer,
    PageRequest,
    PagingRule,
    Parameters,
    first_request,
    next_request,
    require_records,
)
from headgate.untrusted_input.json_documents import MAX_DEPTH
from headgate.untrusted_input.json_shape import too_deep, too_wide

_PATIENCE = frozenset((408, 425, 429, 500, 502, 503, 504))
"""What an API answers when it may answer otherwise a little later."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much an API may give, and how long it may take: bytes, seconds, counts."""

    page: int = 64 << 20
    values: int = 4_000_000
    """In one page: what it says takes many times its bytes once it is read."""
    total: int = 8 << 30
    pages: int = 100_000
    tries: int = 6
    silence: float = 30.0
    """Without a byte, so long."""
    answer: float = 300.0
    """One whole answer with its connection, so long."""
    wait: float = 1.0
    """Before the second try; twice as long before each one after."""
    longest_wait: float = 300.0
    """What an API may ask for in `Retry-After`."""
    redirects: int = 5


BOUNDS = Bounds()


class _AgainError(Exception):
    """An answer that another try may mend. `after` is the time in seconds that the API asked for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


@dataclass(frozen=True, slots=True)
class _Came:
    """One answer: what it says, how many bytes it had, where it was in the end, and its Link header's next."""

    document: Any
    size: int
    address: str
    link: str | None


class Api:
    """One API, asked as its connection says. Use it as a context; `wait` says whether the run has to end."""

    def __init__(self, place: HttpPlace, wait: Callable[[float], bool], bounds: Bounds = BOUNDS) -> None:
        self._base = place.base_url.rstrip("/")
        self._wait = wait
        self._bounds = bounds
        answers = AnswerBounds(bounds.page, bounds.silence, bounds.answer)
        self._http = HttpReader(place, partial(wait, 0), answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def pages(self, path: str, parameters: Parameters, pages: PagingRule | None, pointer: str) -> Iterator[Answer]:
        """Yield every page. Raises `LoadError` where the API does not answer as it should, `EndedError` when told to."""
        asked, so_far, given = first_request(pages, parameters), 0, 0
        seen, at = set[bytes](), self._base
        for number in range(1, self._bounds.pages + 1):
            address = self._address(path, asked, at)
            # By its digest: the API chooses how long its cursors are.
            mark = hashlib.sha256(address.encode()).digest()
            if mark in seen:
                raise LoadError(f"page {number} of `{path}` is one that was read before: the API goes round in circles")
            seen.add(mark)
            came = self._patient(address, f"page {number} of `{path}`")
            given += came.size
            if given > self._bounds.total:
                raise LoadError(f"`{path}` gives more than {self._bounds.total:,} bytes; `parameters` can ask for less")
            at = came.address
            answer = Answer(came.document, require_records(came.document, pointer), came.link)
            so_far += len(answer.records)
            yield answer
            further = next_request(pages, asked, answer, so_far)
            if further is None:
                return
            asked = further
        raise LoadError(f"`{path}` has more than {self._bounds.pages:,} pages; ask for less with `parameters`")

    def _address(self, path: str, asked: PageRequest, at: str) -> str:
        """Return what to ask, where an answer at an address named it. Raises `LoadError` for what is not the API's own."""
        if asked.address is not None:
            return str(is_below(self._base, asked.address, at))
        # A cursor is the API's: whatever characters it has are sent back.
        query = urlencode(asked.parameters, errors="surrogatepass")
        return str(is_below(self._base, f"{self._base}{path}?{query}" if query else f"{self._base}{path}"))

    def _patient(self, address: str, what: str) -> _Came:
        for tried in range(1, self._bounds.tries + 1):
            try:
                return self._ask(address, what)
            except _AgainError as again:
                if tried == self._bounds.tries:
                    raise LoadError(f"{what}: {again}, {tried} times; try again later") from again
                self._pause(again, tried, what)
        raise AssertionError("tried at least once")

    def _pause(self, again: _AgainError, tried: int, what: str) -> None:
        longest = self._bounds.longest_wait
        if again.after is not None and again.after > longest:
            raise LoadError(f"{what}: {again}, and asks to wait {again.after:,.0f} seconds; try again then")
        doubled = self._bounds.wait * 2 ** (tried - 1)
        # Many streams that were turned away together do not come back together.
        seconds = again.after if again.after is not None else doubled * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        if self._wait(min(seconds, longest)):
            raise EndedError from None

    def _ask(self, address: str, what: str) -> _Came:
        for _ in range(self._bounds.redirects + 1):
            answer = self._answer(address, what)
            if answer.redirect is not None:
                address = str(is_below(self._base, answer.redirect, address))
                continue
            _require_success(answer, what)
            self._check_bounds(answer.body, what)
            return _Came(_document(answer.body), len(answer.body), address, answer.next_page)
        raise LoadError(f"{what}: more than {self._bounds.redirects} redirects")

    def _answer(self, address: str, what: str) -> HttpAnswer:
        try:
            return self._http.get(address)
        except OversizedAnswerError:
            raise LoadError(f"{what} is larger than {self._bounds.page:,} bytes; ask for smaller pages") from None
        except BrokenAnswerError as error:
            raise _AgainError(str(error)) from None
        except AnswerError as error:
            raise LoadError(f"{what}: {error}") from None

    def _check_bounds(self, body: bytes | bytearray, what: str) -> None:
        """Raise `LoadError` for a page of too many values, or too deep within each other, before it is read."""
        if too_wide(body, self._bounds.values):
            raise LoadError(f"{what} has more than {self._bounds.values:,} values; ask for smaller pages")
        if too_deep(body, MAX_DEPTH):
            raise LoadError(f"{what} has values more than {MAX_DEPTH} levels deep; leave them out with `parameters`")


def _require_success(answer: HttpAnswer, what: str) -> None:
    status = answer.status
    if status in _PATIENCE:
        raise _AgainError(f"the API answered {_format_status(status)}", _parse_retry_after(answer.headers))
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise LoadError(
            f"{what}: the API answered {_format_status(status)}; give the connection a secret that may read this"
        )
    if status != HTTPStatus.OK:
        raise LoadError(f"{what}: the API answered {_format_status(status)}; look at the stream's path and parameters")


def _document(body: bytes | bytearray) -> Any:
    """Return what an answer says. Half an answer is no JSON, and may be whole the next time."""
    try:
        # In no other encoding: its signs were counted as those of UTF-8.
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_number)
    except ValueError as error:
        raise _AgainError(f"the answer is no JSON ({error})") from None


def _no_number(written: str) -> Any:
    raise ValueError(f"`{written}` is no JSON number")


def _parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return what `Retry-After` asks for, in seconds, written as such or as a date."""
    written = headers.get("retry-after", "").strip()
    if written.isdecimal():
        return float(written)
    try:
        # By the clock of who wrote the date.
        return max(0.0, (parsedate_to_datetime(written) - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def _format_status(status: int) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known[status]}" if status in known else str(status)
