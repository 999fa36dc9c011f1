"""Fetches records from an HTTP API: only from addresses below its own, within limits, with retries where they can help."""

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
"""The statuses of responses that are worth a retry."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of an API's responses, in bytes, seconds and counts."""

    page: int = 64 << 20
    values: int = 4_000_000
    """JSON values in one page: parsed, they take many times the memory of their bytes."""
    total: int = 8 << 30
    pages: int = 100_000
    tries: int = 6
    silence: float = 30.0
    """The longest time without a byte."""
    answer: float = 300.0
    """The longest time of one response, with the connect."""
    wait: float = 1.0
    """The wait before the second try; it is doubled for each further try."""
    longest_wait: float = 300.0
    """The longest wait that an API may request in `Retry-After`."""
    redirects: int = 5


BOUNDS = Bounds()


class _AgainError(Exception):
    """A failure that a retry may fix. `after` is the wait in seconds that the API asked for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


@dataclass(frozen=True, slots=True)
class _Came:
    """One response: its document, its size in bytes, its address after redirects, and the next page of its Link header."""

    document: Any
    size: int
    address: str
    link: str | None


class Api:
    """A client of one API, with the headers of its connection. Use it as a context manager; `wait` is that of the run."""

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
        """Yield every page. Raises `LoadError` for an invalid response, and `EndedError` if the run has to end."""
        asked, so_far, given = first_request(pages, parameters), 0, 0
        seen, at = set[bytes](), self._base
        for number in range(1, self._bounds.pages + 1):
            address = self._address(path, asked, at)
            # As a digest, because the API chooses the length of its cursors.
            mark = hashlib.sha256(address.encode()).digest()
            if mark in seen:
                raise LoadError(
                    f"page {number} of `{path}` was read before: the API's references to the next page form a loop; correct "
                    "`pages` of the stream"
                )
            seen.add(mark)
            came = self._patient(address, f"page {number} of `{path}`")
            given += came.size
            if given > self._bounds.total:
                raise LoadError(
                    f"`{path}` returns more than {self._bounds.total:,} bytes; request fewer records with `parameters`"
                )
            at = came.address
            answer = Answer(came.document, require_records(came.document, pointer), came.link)
            so_far += len(answer.records)
            yield answer
            further = next_request(pages, asked, answer, so_far)
            if further is None:
                return
            asked = further
        raise LoadError(
            f"`{path}` has more than {self._bounds.pages:,} pages; request larger pages, or fewer records with `parameters`"
        )

    def _address(self, path: str, asked: PageRequest, at: str) -> str:
        """Return the address of a request; a reference is resolved against `at`. Raises `LoadError` if it is not the API's."""
        if asked.address is not None:
            return str(is_below(self._base, asked.address, at))
        # A cursor is opaque: its characters are sent back unchanged.
        query = urlencode(asked.parameters, errors="surrogatepass")
        return str(is_below(self._base, f"{self._base}{path}?{query}" if query else f"{self._base}{path}"))

    def _patient(self, address: str, what: str) -> _Came:
        for tried in range(1, self._bounds.tries + 1):
            try:
                return self._ask(address, what)
            except _AgainError as again:
                if tried == self._bounds.tries:
                    raise LoadError(f"{what}: {again}; gave up after {tried} tries; run again later") from again
                self._pause(again, tried, what)
        raise AssertionError("internal error: a page of the source's API was not requested; report it")

    def _pause(self, again: _AgainError, tried: int, what: str) -> None:
        longest = self._bounds.longest_wait
        if again.after is not None and again.after > longest:
            raise LoadError(
                f"{what}: {again}, and asked for a wait of {again.after:,.0f} seconds, more than the limit of {longest:,.0f}; "
                "run again after that time"
            )
        doubled = self._bounds.wait * 2 ** (tried - 1)
        # Random jitter: streams that failed together do not all retry at the same time.
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
        raise LoadError(f"{what}: the API sent more than {self._bounds.redirects} redirects; check the stream's path")

    def _answer(self, address: str, what: str) -> HttpAnswer:
        try:
            return self._http.get(address)
        except OversizedAnswerError:
            raise LoadError(f"{what} is larger than {self._bounds.page:,} bytes; request smaller pages") from None
        except BrokenAnswerError as error:
            raise _AgainError(str(error)) from None
        except AnswerError as error:
            raise LoadError(f"{what}: {error}") from None

    def _check_bounds(self, body: bytes | bytearray, what: str) -> None:
        """Raise `LoadError` for a page with too many or too deeply nested values, before it is parsed."""
        if too_wide(body, self._bounds.values):
            raise LoadError(f"{what} has more than {self._bounds.values:,} values; request smaller pages")
        if too_deep(body, MAX_DEPTH):
            raise LoadError(
                f"{what} has values nested more than {MAX_DEPTH} levels deep; leave them out of the response with `parameters`"
            )


def _require_success(answer: HttpAnswer, what: str) -> None:
    status = answer.status
    if status in _PATIENCE:
        raise _AgainError(f"the API responded with {_format_status(status)}", _parse_retry_after(answer.headers))
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise LoadError(
            f"{what}: the API responded with {_format_status(status)}; set a secret of the connection that may read the "
            "stream's `path`"
        )
    if status != HTTPStatus.OK:
        raise LoadError(
            f"{what}: the API responded with {_format_status(status)}; check the stream's `path` and `parameters`"
        )


def _document(body: bytes | bytearray) -> Any:
    """Return the parsed response. A truncated response is invalid JSON, and a retry may get a complete one."""
    try:
        # In no other encoding: the limits were checked on the bytes of UTF-8.
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_number)
    except ValueError as error:
        raise _AgainError(f"the response is not valid JSON ({error})") from None


def _no_number(written: str) -> Any:
    raise ValueError(f"`{written}` is not a JSON number; ask the provider of the API to send valid JSON")


def _parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds of `Retry-After`, which has seconds or a date; None if it has neither."""
    written = headers.get("retry-after", "").strip()
    if written.isdecimal():
        return float(written)
    try:
        # Relative to the server's own `Date`, because its clock may differ.
        return max(0.0, (parsedate_to_datetime(written) - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def _format_status(status: int) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known[status]}" if status in known else str(status)
