"""Answers of a hostile HTTP host: the reader never accepts more bytes, nor waits longer, than the limits allow."""

import gzip
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest
import zstandard

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
from tests.pipelines.raw_server import CREDENTIAL, Answering, body_of, endless, raw_server

BOUNDS = AnswerBounds(size=100_000, silence=5.0, whole=10.0)
HASTY = replace(BOUNDS, whole=0.5)
GZIP = "content-encoding: gzip"

ENDLESS: dict[str, Answering] = {
    "status line": endless(b"HTTP/1.1 200 ", b"O"),
    "headers": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y"),
    "interim answers": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10),
    "body": endless(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b" "),
    "chunk sizes": endless(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"0"),
    # gzip blocks that decompress to nothing.
    "empty blocks": endless(
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\na\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03\r\n",
        b"5\r\n\0\0\0\xff\xff\r\n",
    ),
    "nothing": endless(b"", b""),
}


def read(place: HttpPlace, bounds: AnswerBounds = BOUNDS, has_to_end: Callable[[], bool] = lambda: False) -> HttpAnswer:
    with HttpReader(place, has_to_end, bounds) as http:
        return http.get(f"{place.base_url}/rows")


def answered(answering: Answering, bounds: AnswerBounds = BOUNDS) -> HttpAnswer:
    with raw_server(answering) as server:
        return read(server.place(), bounds)


class TestABody:
    def test_a_body_is_read_as_it_is(self) -> None:
        assert answered(body_of(b"[1]")).body == b"[1]"
        assert answered(body_of(b"[1]", "content-encoding: identity")).body == b"[1]"

    def test_a_body_is_unpacked_from_gzip(self) -> None:
        rows = b"0123456789" * 10_000

        assert answered(body_of(gzip.compress(rows), GZIP)).body == rows

    @pytest.mark.parametrize("size", [99_999, 100_000])
    def test_a_body_up_to_the_size_limit_is_read(self, size: int) -> None:
        assert len(answered(body_of(bytes(size))).body) == size
        assert len(answered(body_of(gzip.compress(bytes(size)), GZIP)).body) == size

    @pytest.mark.parametrize("sent", [(bytes(100_001),), (gzip.compress(bytes(100_001)), GZIP)], ids=["plain", "gzip"])
    def test_a_body_above_the_size_limit_is_refused(self, sent: tuple[bytes, *tuple[str, ...]]) -> None:
        with pytest.raises(OversizedAnswerError, match="larger than 100,000 bytes"):
            answered(body_of(*sent))

    def test_a_decompression_bomb_is_refused_without_filling_the_memory(self) -> None:
        packed = gzip.compress(bytes(1 << 26))
        tracemalloc.start()
        try:
            with pytest.raises(OversizedAnswerError):
                answered(body_of(packed, GZIP), replace(BOUNDS, size=1 << 20))
            assert tracemalloc.get_traced_memory()[1] < 16 << 20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("coding", ["gzip, gzip", "zstd", "br", "deflate", "gzip, identity", "zzz", "x\x1b]0;y"])
    def test_a_body_that_is_packed_in_another_way_is_refused(self, coding: str) -> None:
        sent = gzip.compress(gzip.compress(bytes(1 << 20))) if "gzip" in coding else zstandard.compress(bytes(1 << 20))

        with pytest.raises(AnswerError, match=r"a content encoding that is not supported|is not valid HTTP"):
            answered(body_of(sent, f"content-encoding: {coding}"))

    def test_a_body_that_is_packed_twice_under_two_headers_is_refused(self) -> None:
        with pytest.raises(AnswerError, match="a content encoding that is not supported"):
            answered(body_of(gzip.compress(gzip.compress(b"[]")), GZIP, GZIP))

    @pytest.mark.parametrize(
        "sent",
        [b"no gzip", gzip.compress(b"[1]")[:-3], gzip.compress(b"[1]") * 2, b""],
        ids=["other", "torn", "twice", "empty"],
    )
    def test_a_damaged_body_raises_an_error_that_allows_a_retry(self, sent: bytes) -> None:
        with pytest.raises(BrokenAnswerError, match="damaged"):
            answered(body_of(sent, GZIP))

    @pytest.mark.parametrize("status", ["302 Found", "404 Not Found", "500 Oh"])
    def test_the_body_of_an_unsuccessful_answer_is_not_read(self, status: str) -> None:
        found = answered(body_of(bytes(200_000), GZIP, status=status))

        assert (found.status, found.body) == (int(status[:3]), b"")


class TestAnEndlessAnswer:
    @pytest.mark.parametrize("answering", ENDLESS.values(), ids=ENDLESS)
    def test_an_endless_answer_ends_at_its_deadline(self, answering: Answering) -> None:
        with pytest.raises(BrokenAnswerError, match=r"not complete after|is not valid HTTP"):
            answered(answering, HASTY)

    @pytest.mark.parametrize("answering", ENDLESS.values(), ids=ENDLESS)
    def test_an_endless_answer_ends_when_the_run_has_to_end(self, answering: Answering) -> None:
        ends = threading.Event()
        threading.Timer(0.3, ends.set).start()
        with raw_server(answering) as server, pytest.raises(EndedError):
            read(server.place(), replace(BOUNDS, whole=60.0, silence=60.0), ends.is_set)

    def test_a_silent_answer_is_aborted_before_its_deadline(self) -> None:
        with pytest.raises(BrokenAnswerError, match="the host did not respond for"):
            answered(ENDLESS["nothing"], replace(BOUNDS, silence=0.3))


def test_a_run_that_has_to_end_sends_nothing() -> None:
    with raw_server(body_of(b"[]")) as server, pytest.raises(EndedError):
        read(server.place(), has_to_end=lambda: True)
    assert server.heads == []


def test_a_connection_is_used_again_within_a_new_deadline() -> None:
    with raw_server(body_of(b"[]")) as server, HttpReader(server.place(), lambda: False, HASTY) as http:
        for _ in range(3):
            assert http.get(f"{server.place().base_url}/rows").body == b"[]"
            time.sleep(0.3)


class TestARequest:
    def test_a_request_asks_for_gzip_alone_and_keeps_the_connections_headers(self) -> None:
        with raw_server(body_of(b"[]")) as server:
            read(server.place(accept="text/csv"))

        (head,) = server.heads
        assert f"authorization: {CREDENTIAL}" in head
        assert "accept-encoding: gzip\r\n" in head
        assert "accept: text/csv\r\n" in head

    def test_a_request_leaves_out_headers_that_say_how_it_is_sent(self) -> None:
        own = {"Accept-Encoding": "zstd", "Expect": "100-continue", "Keep-Alive": "x", "Proxy-Authorization": "Basic y"}
        with raw_server(body_of(b"[]")) as server:
            read(server.place(**own))

        head = server.heads[0].lower()
        assert "accept-encoding: gzip\r\n" in head
        assert not any(name in head for name in ("zstd", "expect", "keep-alive", "proxy-authorization"))

    def test_a_request_brings_back_no_cookie(self) -> None:
        with raw_server(body_of(b"[]", "set-cookie: a=b")) as server, HttpReader(server.place(), bool, BOUNDS) as http:
            for _ in range(2):
                http.get(f"{server.place().base_url}/rows")

        assert not any("cookie" in head.lower() for head in server.heads)

    def test_a_request_to_an_address_above_the_connections_is_refused(self) -> None:
        with (
            raw_server(body_of(b"[]")) as server,
            HttpReader(server.place("/v1/tenant"), bool, BOUNDS) as http,
            pytest.raises(LoadError),
        ):
            http.send("POST", f"http://127.0.0.1:{server.port}/v1/other", {})
        assert server.heads == []


class TestAnError:
    @pytest.mark.parametrize(
        "answering",
        [
            endless(b"\x1b]0;pwned\x07 hello\r\n", b"x\r\n"),
            body_of(b"", "content-encoding: \x1b]0;pwned"),
            body_of(b"", "pwned"),
            body_of(b"x", "content-encoding: pwned"),
            body_of(b"pwned", "transfer-encoding: pwned"),
        ],
        ids=["no http", "control characters", "no header", "unknown coding", "unknown framing"],
    )
    def test_an_error_repeats_no_text_of_the_hosts_answer(self, answering: Answering) -> None:
        with pytest.raises(AnswerError) as raised:
            answered(answering)

        assert "pwned" not in str(raised.value)

    def test_an_error_repeats_no_header_of_the_connection(self) -> None:
        with raw_server(body_of(b"[]")) as server, pytest.raises(AnswerError) as raised:
            read(server.place(key="s3cret "))

        assert "s3cret" not in str(raised.value)
        assert "headers of the connection are not valid" in str(raised.value)

    def test_an_error_names_no_host(self) -> None:
        gone = HttpPlace("http://api.example.org", {}, _without_address)

        with pytest.raises(BrokenAnswerError) as raised:
            read(gone)

        assert "example" not in str(raised.value)


def _without_address(host: str, _: int) -> tuple[()]:
    raise OSError(f"`{host}` has no address")


def test_an_invalid_host_name_is_refused() -> None:
    with pytest.raises(AnswerError, match="not valid in the DNS"):
        read(HttpPlace("http://xn--a.example.org", {}, lambda *_: ()))


def test_an_answer_has_the_redirect_and_the_next_page_of_its_headers() -> None:
    found = answered(body_of(b"", "location: /x", 'link: </y>; rel="next"', status="302 Found"))

    assert (found.status, found.redirect, found.next_page) == (302, "/x", "/y")
    assert answered(body_of(b"", status="304 Not Modified")).redirect is None
