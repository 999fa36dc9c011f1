"""Asking an HTTP API: its own origin and nothing else, bounded in size and time, tried again where that can help."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx

from headgate.pipelines.loading.errors import EndedError, LoadError
from headgate.pipelines.loading.paging import Answer, Pages, Parameters, Request, first, following, records
from headgate.pipelines.pinned_http import PinnedTransport
from headgate.pipelines.place import HttpPlace

_PATIENCE = frozenset((408, 425, 429, 500, 502, 503, 504))
"""What an API answers when it may answer otherwise a little later."""
_PORTS = {"http": 80, "https": 443}


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
    """One whole answer, so long."""
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
    """One answer: what it says, how many bytes it had, and what its Link header names as the next."""

    document: Any
    size: int
    link: str | None


class Api:
    """One API, asked as its connection says. Use it as a context; `wait` says whether the run has to end."""

    def __init__(self, place: HttpPlace, wait: Callable[[float], bool], bounds: Bounds = BOUNDS) -> None:
        self._base = place.base_url.rstrip("/")
        self._origin = _origin(self._base)
        self._wait = wait
        self._bounds = bounds
        # No proxy, no credentials from this machine's environment, and each redirect is decided on.
        self._client = httpx.Client(
            headers={"accept": "application/json", **place.headers},
            timeout=bounds.silence,
            trust_env=False,
            transport=PinnedTransport(place.decide),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def pages(self, path: str, parameters: Parameters, pages: Pages | None, pointer: str) -> Iterator[Answer]:
        """Yield every page. Raises `LoadError` where the API does not answer as it should, `EndedError` when told to."""
        asked, so_far, given = first(pages, parameters), 0, 0
        seen = set[str]()
        for number in range(1, self._bounds.pages + 1):
            address = self._address(path, asked)
            if address in seen:
                raise LoadError(f"page {number} of `{path}` is one that was read before: the API goes round in circles")
            seen.add(address)
            came = self._patient(address, f"page {number} of `{path}`")
            given += came.size
            if given > self._bounds.total:
                raise LoadError(f"`{path}` gives more than {self._bounds.total:,} bytes; `parameters` can ask for less")
            link = came.link and urljoin(address, came.link)
            answer = Answer(came.document, records(came.document, pointer), link)
            so_far += len(answer.records)
            yield answer
            further = following(pages, asked, answer, so_far)
            if further is None:
                return
            asked = further
        raise LoadError(f"`{path}` has more than {self._bounds.pages:,} pages; ask for less with `parameters`")

    def _address(self, path: str, asked: Request) -> str:
        if asked.address is None:
            return str(httpx.URL(f"{self._base}{path}", params=dict(asked.parameters)))
        self._own(asked.address)
        return asked.address

    def _own(self, address: str) -> None:
        """Raise `LoadError` for an address of somebody else: the headers of the connection are for its own API."""
        if _origin(address) != self._origin:
            raise LoadError(
                f"the API leads to {_shown(address)}, which is not the connection's own address; "
                "if that is where the API is now, change the connection"
            )

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
            try:
                with self._client.stream("GET", address) as answer:
                    if answer.is_redirect:
                        address = urljoin(address, answer.headers["location"])
                        self._own(address)
                        continue
                    _accepted(answer, what)
                    body = self._body(answer, what)
                    self._count_values(body, what)
                    return _Came(_document(body), len(body), answer.links.get("next", {}).get("url"))
            except httpx.TimeoutException:
                raise _AgainError(f"no answer for {self._bounds.silence:,.0f} seconds") from None
            except httpx.DecodingError:
                raise _AgainError("the answer is damaged") from None
            except httpx.TransportError as error:
                raise _AgainError(f"the connection failed ({error or type(error).__name__})") from None
        raise LoadError(f"{what}: more than {self._bounds.redirects} redirects")

    def _body(self, answer: httpx.Response, what: str) -> bytearray:
        body, until = bytearray(), time.monotonic() + self._bounds.answer
        for chunk in answer.iter_bytes():
            body += chunk
            if len(body) > self._bounds.page:
                raise LoadError(f"{what} is larger than {self._bounds.page:,} bytes; ask for smaller pages")
            if time.monotonic() > until:
                raise _AgainError(f"the answer is not whole after {self._bounds.answer:,.0f} seconds")
            if self._wait(0):
                raise EndedError
        return body

    def _count_values(self, body: bytearray, what: str) -> None:
        """Raise `LoadError` for a page that may have too many values, before it is read."""
        if sum(map(body.count, (b",", b"[", b"{"))) > self._bounds.values:
            raise LoadError(f"{what} has more than {self._bounds.values:,} values; ask for smaller pages")


def _accepted(answer: httpx.Response, what: str) -> None:
    status = answer.status_code
    if status in _PATIENCE:
        raise _AgainError(f"the API answered {_named(status)}", _after(answer.headers))
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise LoadError(f"{what}: the API answered {_named(status)}; give the connection a secret that may read this")
    if status != HTTPStatus.OK:
        raise LoadError(f"{what}: the API answered {_named(status)}; look at the stream's path and parameters")


def _document(body: bytearray) -> Any:
    """Return what an answer says. Half an answer is no JSON, and may be whole the next time."""
    try:
        return json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise LoadError("the answer is nested too deep") from None
    except ValueError as error:
        raise _AgainError(f"the answer is no JSON ({error})") from None


def _no_number(written: str) -> Any:
    raise ValueError(f"`{written}` is no JSON number")


def _after(headers: Mapping[str, str]) -> float | None:
    """Return what `Retry-After` asks for, in seconds, written as such or as a date."""
    written = headers.get("retry-after", "").strip()
    if written.isdecimal():
        return float(written)
    try:
        # By the clock of who wrote the date.
        return max(0.0, (parsedate_to_datetime(written) - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, TypeError, KeyError):
        return None


def _named(status: int) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known[status]}" if status in known else str(status)


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _shown(address: str) -> str:
    scheme, host, port = _origin(address)
    return f"`{scheme}://{host}:{port}`"
