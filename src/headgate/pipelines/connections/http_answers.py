"""The one reader of what the host behind a connection answers over HTTP: bounded in bytes and time.

The host is taken for hostile, and its answers for any bytes. Nothing is sent but to addresses below the
connection's own, and nothing that the host writes is repeated in an error, but where it leads, as plain letters.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

import httpx

from headgate.control.connections.commands import RESERVED_HEADERS
from headgate.control.text.error_text import mask
from headgate.pipelines.connections.base_address import is_below
from headgate.pipelines.connections.pinned_http import PinnedTransport
from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.connections.watched_sockets import DeadlineError, Watch, WatchedTransport

_GZIP: Final = "gzip"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
"""What zlib takes for gzip's format, and no other."""


class AnswerError(Exception):
    """The host's answer is not taken; the message says why, without any text of the host's."""


class BrokenAnswerError(AnswerError):
    """No whole answer came. The next one may be whole."""


class OversizedAnswerError(AnswerError):
    """The answer is larger than it may be, as it was sent or unpacked."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """How large an answer may be, in bytes, packed and unpacked alike; how long it may take, in seconds."""

    size: int
    silence: float
    """Without a byte."""
    whole: float
    """From before the connection is made to the last byte."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One answer: its body, which is empty unless the status says success, and where its headers lead."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | bytearray = field(default=b"", repr=False)
    redirect: str | None = None
    next_page: str | None = None
    """The reference of the `Link` header to the next page."""


class HttpReader:
    """Asks the host behind a connection, with the connection's headers. Use it as a context."""

    def __init__(self, place: HttpPlace, has_to_end: Callable[[], bool], bounds: AnswerBounds) -> None:
        self._base = place.base_url
        self._headers = _headers(place.headers)
        self._bounds = bounds
        self._watch = Watch(has_to_end)
        self._transport = PinnedTransport(place.decide, WatchedTransport(self._watch))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def get(self, address: str) -> HttpAnswer:
        """Return the answer at an address below the connection's.

        Raises:
            LoadError: the address lies elsewhere.
            AnswerError: the answer is not taken.
            EndedError: the run has to end.
            EgressError: the host may not be connected.
        """
        with self._exchange("GET", address, None) as answer:
            body = self._body(answer) if answer.is_success else b""
            redirect = answer.headers["location"] if answer.has_redirect_location else None
            following = answer.links.get("next", {}).get("url")
            return HttpAnswer(answer.status_code, answer.headers, body, redirect, following)

    def send(self, method: str, address: str, document: Any = None) -> int:
        """Send a request, with a JSON document if one is given, and return the answer's status. Raises as `get` does."""
        with self._exchange(method, address, document) as answer:
            return answer.status_code

    @contextmanager
    def _exchange(self, method: str, address: str, document: Any) -> Iterator[httpx.Response]:
        self._watch.start(self._bounds.whole)
        waits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), self._bounds.silence)}
        target = is_below(self._base, address)
        try:
            request = httpx.Request(method, target, headers=self._headers, json=document, extensions=waits)
        except (httpx.InvalidURL, UnicodeError):
            raise AnswerError("its host is no name in the DNS; give the connection another address") from None
        with self._translate_errors():
            # The transport is asked itself: a client of httpx would keep cookies, and unpack bodies without a bound.
            answer = self._transport.handle_request(request)
            try:
                yield answer
            finally:
                answer.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise what went wrong as an `AnswerError`. Errors of the protocol quote the host, or the connection's headers."""
        try:
            yield
        except httpx.TimeoutException:
            raise BrokenAnswerError(f"no answer for {self._bounds.silence:,.0f} seconds") from None
        except DeadlineError:
            raise BrokenAnswerError(f"the answer is not whole after {self._bounds.whole:,.0f} seconds") from None
        except httpx.LocalProtocolError:
            raise AnswerError("the connection's headers cannot be sent; give the connection others") from None
        except httpx.ProtocolError:
            raise BrokenAnswerError("the connection failed (what came is no whole HTTP answer)") from None
        except httpx.TransportError as error:
            raise BrokenAnswerError(f"the connection failed ({mask(str(error)) or type(error).__name__})") from None

    def _body(self, answer: httpx.Response) -> bytearray:
        coding = answer.headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity", _GZIP):
            raise AnswerError("the answer is packed in another way than gzip; it was asked for in no other")
        return _unpacked(answer.iter_raw(), self._bounds.size, is_gzip=coding == _GZIP)


def _headers(own: Mapping[str, str]) -> httpx.Headers:
    """Return the headers of a request. A secret of an earlier version may have headers that are no longer taken."""
    headers = httpx.Headers({"accept": "application/json", "user-agent": "headgate"})
    headers.update({name: value for name, value in own.items() if name.lower() not in RESERVED_HEADERS})
    headers["accept-encoding"] = _GZIP
    return headers


def _unpacked(pieces: Iterable[bytes], largest: int, *, is_gzip: bool) -> bytearray:
    """Return a body. Not a byte more than `largest` is unpacked, however well it is packed."""
    body, raw, unpacker = bytearray(), 0, zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        raw += len(piece)
        # One byte more than may be, to see that there is more. The limit is never 0, which would be none.
        body += _inflated(unpacker, piece, largest + 1 - len(body)) if is_gzip else piece
        if max(raw, len(body)) > largest:
            raise OversizedAnswerError(f"the answer is larger than {largest:,} bytes")
    if is_gzip and not unpacker.eof:
        raise BrokenAnswerError("the answer is damaged: its gzip data ends early")
    return body


def _inflated(unpacker: Any, piece: bytes, limit: int) -> bytes:
    try:
        found = unpacker.decompress(piece, limit)
    except zlib.error:
        raise BrokenAnswerError("the answer is damaged: it is no gzip data") from None
    if unpacker.unused_data:
        raise BrokenAnswerError("the answer is damaged: bytes follow its gzip data")
    return found
