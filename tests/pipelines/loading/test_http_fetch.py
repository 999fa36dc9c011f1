"""Reading an HTTP API page by page, from a real server that behaves like common APIs."""

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.load_errors import EndedError, LoadError
from headgate.pipelines.loading.http_fetch import BOUNDS, Api, Bounds
from headgate.pipelines.loading.paging import (
    CursorPages,
    LinkedPages,
    NumberedPages,
    OffsetPages,
    PagingRule,
    resolve_pointer,
)
from headgate.pipelines.loading.staging import stage
from tests.egress import open_egress
from tests.pipelines.api_server import ApiServer, Asked, Given, api_server
from tests.pipelines.raw_server import endless, raw_server

QUICK = replace(BOUNDS, wait=0.01, tries=3, silence=0.3, answer=5.0)
ROWS = [{"id": number} for number in range(7)]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server() as served:
        yield served


class Waits:
    """Records the requested waits without waiting."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.ends = False

    def __call__(self, seconds: float) -> bool:
        if seconds:
            self.seconds.append(seconds)
        return self.ends


def read(
    server: ApiServer,
    pages: PagingRule | None = None,
    *,
    base: str = "",
    waits: Waits | None = None,
    bounds: Bounds = QUICK,
    pointer: str = "",
) -> list[Any]:
    place = HttpPlace(base or server.url, {"authorization": "Bearer s3cret"}, open_egress().addresses)
    with Api(place, waits or Waits(), bounds) as api:
        return [row for page in api.pages("/rows", {"kind": "a"}, pages, pointer) for row in page.records]


def numbered(asked: Asked) -> Given:
    start = 3 * (int(asked.parameters["page"]) - 1)
    return Given(ROWS[start : start + 3])


def offset(asked: Asked) -> Given:
    start = int(asked.parameters["offset"])
    # The page is smaller than requested, as some APIs do it.
    return Given(ROWS[start : start + 2])


def by_cursor(asked: Asked) -> Given:
    start = int(asked.parameters.get("cursor", "0"))
    following = str(start + 3) if start + 3 < len(ROWS) else None
    return Given({"meta": {"next": following}, "data": {"rows": ROWS[start : start + 3]}})


def linked(asked: Asked) -> Given:
    start = int(asked.parameters.get("from", "0"))
    more = {"link": f'</rows?from={start + 3}>; rel="next", </rows>; rel="first"'} if start + 3 < len(ROWS) else {}
    return Given(ROWS[start : start + 3], headers=more)


class TestPages:
    def test_numbered_pages_end_with_an_empty_page(self, server: ApiServer) -> None:
        server.answering = numbered

        assert read(server, NumberedPages(by="page", size=3, size_parameter="per_page")) == ROWS
        assert [each.parameters["page"] for each in server.asked] == ["1", "2", "3", "4"]
        assert {each.parameters["per_page"] for each in server.asked} == {"3"}

    def test_offset_pages_continue_after_the_rows_that_were_returned(self, server: ApiServer) -> None:
        server.answering = offset

        assert read(server, OffsetPages(by="offset", size=5)) == ROWS

    def test_cursor_pages_end_without_a_next_cursor(self, server: ApiServer) -> None:
        server.answering = by_cursor

        assert read(server, CursorPages(by="cursor", next="/meta/next"), pointer="/data/rows") == ROWS

    def test_linked_pages_follow_the_link_header(self, server: ApiServer) -> None:
        server.answering = linked

        assert read(server, LinkedPages(by="link")) == ROWS

    def test_an_api_without_a_paging_rule_is_read_as_one_page(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        assert read(server) == ROWS
        assert server.asked[0].path == "/rows"
        assert server.asked[0].parameters == {"kind": "a"}
        assert server.asked[0].headers["authorization"] == "Bearer s3cret"

    @pytest.mark.parametrize(
        "pages", [CursorPages(by="cursor", next="/next"), NumberedPages(by="page", parameter="kind")]
    )
    def test_pages_that_repeat_are_refused(self, server: ApiServer, pages: PagingRule) -> None:
        server.scripted(Given({"next": "x", "rows": ROWS}))

        with pytest.raises(LoadError, match=r"form a loop|more than 3 pages"):
            read(server, pages, pointer="/rows", bounds=replace(QUICK, pages=3))

    def test_pages_beyond_the_limit_are_refused(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        with pytest.raises(LoadError, match="more than 3 pages"):
            read(server, NumberedPages(by="page"), bounds=replace(QUICK, pages=3))

    @pytest.mark.parametrize("document", [{"rows": 1}, 5, {"rows": [{"id": 1}, 2]}, {}])
    def test_a_page_without_a_list_of_objects_is_refused(self, server: ApiServer, document: Any) -> None:
        server.scripted(Given(document))

        with pytest.raises(LoadError, match=r"no list at `/rows`|has a record that is not an object"):
            read(server, pointer="/rows")


def test_a_json_pointer_is_resolved_as_the_standard_requires() -> None:
    document = {"a/b": [{"m~n": 1}], "": 2}

    assert resolve_pointer(document, "") == document
    assert resolve_pointer(document, "/a~1b/0/m~0n") == 1
    assert resolve_pointer(document, "/") == 2
    assert resolve_pointer(document, "/a~1b/1") is None
    assert resolve_pointer(document, "/a~1b/x/y") is None


class TestAnApiInTrouble:
    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_failed_request_is_retried_after_growing_waits(self, server: ApiServer, status: int) -> None:
        waits = Waits()
        server.scripted(Given(status=status), Given(status=status), Given(ROWS))

        assert read(server, waits=waits) == ROWS
        assert 0 < waits.seconds[0] < waits.seconds[1]

    def test_a_retry_waits_as_long_as_the_retry_after_header_demands(self, server: ApiServer) -> None:
        waits = Waits()
        at = {"date": "Sun, 22 Nov 2026 00:00:00 GMT", "retry-after": "Sun, 22 Nov 2026 00:01:30 GMT"}
        server.scripted(Given(status=429, headers={"retry-after": "7"}), Given(status=503, headers=at), Given(ROWS))

        assert read(server, waits=waits) == ROWS
        assert waits.seconds == [7, 90]

    def test_a_retry_after_header_above_the_limit_is_refused(self, server: ApiServer) -> None:
        server.scripted(Given(status=429, headers={"retry-after": "86400"}))

        with pytest.raises(LoadError, match="429 Too Many Requests, and asked for a wait of 86,400 seconds"):
            read(server)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (
                Given(status=500),
                "page 1 of `/rows`: the API responded with 500 Internal Server Error; gave up after 3 tries",
            ),
            (Given(body=b'[{"id": 1}', length=100), "the response of the host is incomplete"),
            (Given(body=b'[{"id": 1}, {"i'), "the response is not valid JSON"),
            (Given(body=b'[{"id": NaN}]'), "`NaN` is not a JSON number"),
            (Given(body=b"\xff\xfe"), "the response is not valid JSON"),
            (Given(body=b"no", headers={"content-encoding": "gzip"}), "the response of the host is damaged"),
            (Given(length=100, stalls=True), "the host did not respond for"),
        ],
        ids=["500", "half", "torn", "nan", "binary", "damaged", "never"],
    )
    def test_a_failing_api_is_reported_after_the_last_retry(self, server: ApiServer, given: Given, said: str) -> None:
        server.scripted(given)

        with pytest.raises(LoadError) as raised:
            read(server)

        assert said in str(raised.value)
        assert len(server.asked) == QUICK.tries
        assert "s3cret" not in str(raised.value)

    def test_a_truncated_page_is_requested_again(self, server: ApiServer) -> None:
        server.scripted(Given(body=b'[{"id": 1}', length=100), Given(ROWS))

        assert read(server) == ROWS

    @pytest.mark.parametrize(
        ("status", "said"), [(404, "check the stream's `path`"), (401, "set a secret of the connection that may")]
    )
    def test_a_request_that_the_api_refuses_is_not_retried(self, server: ApiServer, status: int, said: str) -> None:
        server.scripted(Given(status=status))

        with pytest.raises(LoadError, match=said):
            read(server)

        assert len(server.asked) == 1

    def test_an_endless_answer_ends_with_the_run(self) -> None:
        ends = threading.Event()
        threading.Timer(0.3, ends.set).start()
        unhurried = replace(QUICK, silence=60, answer=60)
        with (
            raw_server(endless(b"HTTP/1.1 200 OK\r\nx: ", b"y")) as server,
            Api(server.place(), ends.wait, unhurried) as api,
            pytest.raises(EndedError),
        ):
            list(api.pages("/rows", {}, None, ""))

    def test_a_wait_for_a_retry_ends_when_the_run_has_to_end(self, server: ApiServer) -> None:
        waits = Waits()
        waits.ends = True
        server.scripted(Given(status=500))

        with pytest.raises(EndedError):
            read(server, waits=waits)

    def test_an_unreachable_api_is_reported(self) -> None:
        with api_server() as gone:
            pass

        with pytest.raises(
            LoadError, match=r"the request to the host failed: .*gave up after 3 tries; run again later"
        ):
            read(gone)


class TestBounds:
    def test_a_page_above_the_size_limit_is_refused(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS * 100))

        with pytest.raises(LoadError, match="page 1 of `/rows` is larger than 1,000 bytes"):
            read(server, bounds=replace(QUICK, page=1000))

    def test_a_page_that_is_packed_twice_is_refused(self, server: ApiServer) -> None:
        packed = gzip.compress(gzip.compress(json.dumps(ROWS).encode()))
        server.scripted(Given(body=packed, headers={"content-encoding": "gzip, gzip"}))

        with pytest.raises(
            LoadError, match="page 1 of `/rows`: the response of the host has a content encoding that is not supported"
        ):
            read(server)

    def test_a_packed_page_is_bounded_by_what_it_unpacks_to(self, server: ApiServer) -> None:
        packed = gzip.compress(json.dumps(ROWS * 100).encode())
        server.scripted(Given(body=packed, headers={"content-encoding": "gzip"}))

        assert len(packed) < 1000
        assert read(server) == ROWS * 100
        with pytest.raises(LoadError, match="page 1 of `/rows` is larger than 1,000 bytes"):
            read(server, bounds=replace(QUICK, page=1000))

    @pytest.mark.parametrize("depth", [200, 100_000])
    def test_a_page_is_bounded_in_its_depth(self, server: ApiServer, depth: int) -> None:
        server.scripted(Given(body=b'[{"a": ' + b"[" * depth + b"]" * depth + b"}]"))

        with pytest.raises(LoadError, match="deep"):
            read(server)

    def test_a_page_that_hides_its_depth_in_another_encoding_is_no_json(self, server: ApiServer) -> None:
        server.answering = lambda _: Given(body=json.dumps(["\u2222", [[[]]] * 200]).encode("utf-16"))

        with pytest.raises(LoadError, match="the response is not valid JSON"):
            read(server, bounds=replace(QUICK, tries=1))

    def test_a_page_that_begins_with_a_byte_order_mark_is_read(self, server: ApiServer) -> None:
        server.scripted(Given(body=json.dumps(ROWS).encode("utf-8-sig")))

        assert read(server) == ROWS

    @pytest.mark.parametrize("cursor", ["\ud800", "a" * 70_000], ids=["half", "long"])
    def test_a_cursor_that_does_not_fit_into_an_address_is_refused(self, server: ApiServer, cursor: str) -> None:
        server.scripted(Given({"next": cursor, "rows": ROWS}))

        with pytest.raises(LoadError, match=r"form a loop|is malformed"):
            read(server, CursorPages(by="cursor", next="/next"), pointer="/rows")

    @pytest.mark.parametrize(
        "date",
        ["Sun, 22 Nov 2026 00:00:00 +" + "9" * 20, f"Sun, 22 Nov {'9' * 20} 00:00:00 GMT", "9" * 400, "x"],
        ids=["zone", "year", "seconds", "word"],
    )
    def test_a_failure_with_an_invalid_retry_after_header_is_reported(self, server: ApiServer, date: str) -> None:
        server.scripted(Given(status=503, headers={"retry-after": date, "date": date}))

        with pytest.raises(LoadError, match="503"):
            read(server)

    def test_pages_above_the_total_size_limit_are_refused(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        with pytest.raises(LoadError, match="returns more than 300 bytes"):
            read(server, NumberedPages(by="page"), bounds=replace(QUICK, total=300))

    def test_a_page_with_too_many_values_is_refused(self, server: ApiServer) -> None:
        server.scripted(Given([{"a": []}] * 101), Given([{"a": []}] * 20))

        with pytest.raises(LoadError, match="page 1 of `/rows` has more than 200 values; request smaller pages"):
            read(server, bounds=replace(QUICK, values=200))
        assert len(read(server, bounds=replace(QUICK, values=200))) == 20


class TestTheOrigin:
    def test_redirects_and_links_to_another_origin_are_refused(self, server: ApiServer) -> None:
        with api_server() as other:
            for way in (
                Given(status=302, headers={"location": f"{other.url}/rows"}),
                Given(ROWS, headers={"link": f'<{other.url}/rows>; rel="next"'}),
            ):
                server.scripted(way)
                with pytest.raises(LoadError, match="outside the address of the connection"):
                    read(server, LinkedPages(by="link"))

            assert other.asked == []

    def test_a_redirect_to_the_same_origin_is_followed(self, server: ApiServer) -> None:
        server.scripted(Given(status=301, headers={"location": "/rows/"}), Given(ROWS))

        assert read(server) == ROWS
        assert [each.path for each in server.asked] == ["/rows", "/rows/"]

    @pytest.mark.parametrize(
        "way",
        [
            "/other/admin",
            "/v1/tenant/%2e%2e/admin",
            "http://me:secret@{}/v1/tenant/x",
            "http://[",
            "http://127.0.0.1:99999999/",
            "http://xn--a.example/",
            "/a\x01b",
            "/" + "a" * 60_000,
        ],
        ids=["up", "quoted up", "user", "bracket", "port", "name", "control", "long"],
    )
    def test_redirects_and_links_above_the_connections_path_are_refused(self, server: ApiServer, way: str) -> None:
        led = way.format(server.url.removeprefix("http://"))
        for given in (
            Given(status=302, headers={"location": led}),
            Given(ROWS, headers={"link": f'<{led}>; rel="next"'}),
        ):
            server.asked.clear()
            server.scripted(given)
            with pytest.raises(LoadError):
                read(server, LinkedPages(by="link"), base=f"{server.url}/v1/tenant")

            assert {each.path for each in server.asked} == {"/v1/tenant/rows"}
            assert {each.headers["authorization"] for each in server.asked} == {"Bearer s3cret"}

    def test_a_relative_link_is_resolved_against_the_redirected_address(self, server: ApiServer) -> None:
        server.scripted(
            Given(status=302, headers={"location": "/v2/rows"}),
            Given(ROWS[:3], headers={"link": '<more>; rel="next"'}),
            Given(ROWS[3:]),
        )

        assert read(server, LinkedPages(by="link")) == ROWS
        assert [each.path for each in server.asked] == ["/rows", "/v2/rows", "/v2/more"]

    def test_a_redirect_loop_is_refused(self, server: ApiServer) -> None:
        server.scripted(Given(status=302, headers={"location": "/rows"}))

        with pytest.raises(LoadError, match="more than 5 redirects"):
            read(server)

    def test_a_proxy_of_the_environment_is_ignored(self, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
        server.scripted(Given(ROWS))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

        assert read(server) == ROWS

    def test_a_request_starts_with_the_path_of_the_connection(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        read(server, base=f"{server.url}/v2/")

        assert server.asked[0].path == "/v2/rows"


def test_records_are_staged_as_lines(server: ApiServer, tmp_path: Path) -> None:
    odd = [{"word": 'new\nline, "quote", \ud800'}, {"number": 12345678901234567890}]
    server.scripted(Given(odd))

    with Api(HttpPlace(server.url, {}, open_egress().addresses), Waits(), QUICK) as api:
        count = stage(api.pages("/rows", {}, None, ""), tmp_path / "staged")

    (file,) = (tmp_path / "staged").iterdir()
    assert count == len(odd)
    assert len(file.read_text(encoding="utf-8").splitlines()) == len(odd)
