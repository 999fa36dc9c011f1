"""The only reader of HTTP responses from the host of a connection: bounded in bytes and time.

The host is assumed to be hostile, and its responses to be any bytes. Requests go only to addresses below the connection's
own. An error repeats no text of the host, except the address that it leads to, in plain ASCII.
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
"""The window size by which zlib accepts the gzip format only."""


class AnswerError(Exception):
    """The host's response is refused; the message says why, without any text of the host."""


class BrokenAnswerError(AnswerError):
    """The response is missing or incomplete. A retry may get a complete one."""


class OversizedAnswerError(AnswerError):
    """The response is larger than its limit, compressed or uncompressed."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """The limits of a response: its size in bytes, compressed and uncompressed alike, and its times in seconds."""

    size: int
    silence: float
    """The longest time without a byte."""
    whole: float
    """The longest time from before the connect to the last byte."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One response: its body, which is empty unless the status is a success, and the addresses in its headers."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | bytearray = field(default=b"", repr=False)
    redirect: str | None = None
    next_page: str | None = None
    """The reference to the next page in the `Link` header."""


class HttpReader:
    """Sends requests to the host of a connection, with the connection's headers. Use it as a context manager."""

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
        """Return the response of an address below the connection's.

        Raises:
            LoadError: the address is not below the connection's.
            AnswerError: the response is refused.
            EndedError: the run has to end.
            EgressError: egress control does not allow the host.
        """
        with self._exchange("GET", address, None) as answer:
            body = self._body(answer) if answer.is_success else b""
            redirect = answer.headers["location"] if answer.has_redirect_location else None
            following = answer.links.get("next", {}).get("url")
            return HttpAnswer(answer.status_code, answer.headers, body, redirect, following)

    def send(self, method: str, address: str, document: Any = None) -> int:
        """Send a request, with a JSON document if one is given, and return the response's status. Raises as `get` does."""
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
            raise AnswerError(
                "the host name in the address of the connection is not valid in the DNS; correct the address"
            ) from None
        with self._translate_errors():
            # The transport is called directly: a client of httpx would keep cookies, and decompress bodies without a limit.
            answer = self._transport.handle_request(request)
            try:
                yield answer
            finally:
                answer.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of httpx as `AnswerError`, without their text: it quotes the host, or the connection's headers."""
        try:
            yield
        except httpx.TimeoutException:
            raise BrokenAnswerError(f"the host did not respond for {self._bounds.silence:,.0f} seconds") from None
        except DeadlineError:
            raise BrokenAnswerError(
                f"the response of the host was not complete after {self._bounds.whole:,.0f} seconds"
            ) from None
        except httpx.LocalProtocolError:
            raise AnswerError(
                "the headers of the connection are not valid in HTTP; set the secret of the connection again "
                "with valid headers"
            ) from None
        except httpx.ProtocolError:
            raise BrokenAnswerError("the response of the host is incomplete, or is not valid HTTP") from None
        except httpx.TransportError as error:
            raise BrokenAnswerError(
                f"the request to the host failed: {mask(str(error)) or type(error).__name__}"
            ) from None

    def _body(self, answer: httpx.Response) -> bytearray:
        coding = answer.headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity", _GZIP):
            raise AnswerError(
                "the response of the host has a content encoding that is not supported; let the API send "
                "gzip or no encoding"
            )
        return _unpacked(answer.iter_raw(), self._bounds.size, is_gzip=coding == _GZIP)


def _headers(own: Mapping[str, str]) -> httpx.Headers:
    """Return the headers of a request, without reserved ones: a secret of an earlier version may still have these."""
    headers = httpx.Headers({"accept": "application/json", "user-agent": "headgate"})
    headers.update({name: value for name, value in own.items() if name.lower() not in RESERVED_HEADERS})
    headers["accept-encoding"] = _GZIP
    return headers


def _unpacked(pieces: Iterable[bytes], largest: int, *, is_gzip: bool) -> bytearray:
    """Return a body, decompressed up to `largest` bytes and one more, at any compression ratio (decompression bombs)."""
    body, raw, unpacker = bytearray(), 0, zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        raw += len(piece)
        # One byte more than allowed, to detect a larger body. The limit is never 0, which would mean no limit.
        body += _inflated(unpacker, piece, largest + 1 - len(body)) if is_gzip else piece
        if max(raw, len(body)) > largest:
            raise OversizedAnswerError(
                f"the response of the host is larger than {largest:,} bytes; check the address of the connection"
            )
    if is_gzip and not unpacker.eof:
        raise BrokenAnswerError("the response of the host is damaged: its gzip data is truncated")
    return body


def _inflated(unpacker: Any, piece: bytes, limit: int) -> bytes:
    try:
        found = unpacker.decompress(piece, limit)
    except zlib.error:
        raise BrokenAnswerError("the response of the host is damaged: it is not valid gzip data") from None
    if unpacker.unused_data:
        raise BrokenAnswerError("the response of the host is damaged: bytes follow its gzip data")
    return found
