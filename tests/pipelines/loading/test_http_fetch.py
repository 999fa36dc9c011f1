"""Reading an HTTP API, page by page, from a real server that does what APIs do."""

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
from headgate.pipelines.loading.paging import CursorPages, LinkedPages, NumberedPages, OffsetPages, PagingRule, at
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
    """Remembers how long it was asked to wait, and does not."""

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
    # It gives fewer than it is asked for, as some do.
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
    def test_by_number_end_with_one_that_is_empty(self, server: ApiServer) -> None:
        server.answering = numbered

        assert read(server, NumberedPages(by="page", size=3, size_parameter="per_page")) == ROWS
        assert [each.parameters["page"] for each in server.asked] == ["1", "2", "3", "4"]
        assert {each.parameters["per_page"] for each in server.asked} == {"3"}

    def test_by_offset_go_on_from_what_came_not_from_what_was_asked_for(self, server: ApiServer) -> None:
        server.answering = offset

        assert read(server, OffsetPages(by="offset", size=5)) == ROWS

    def test_by_cursor_end_where_there_is_none(self, server: ApiServer) -> None:
        server.answering = by_cursor

        assert read(server, CursorPages(by="cursor", next="/meta/next"), pointer="/data/rows") == ROWS

    def test_by_link_follow_the_header(self, server: ApiServer) -> None:
        server.answering = linked

        assert read(server, LinkedPages(by="link")) == ROWS

    def test_are_one_where_nothing_is_said(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        assert read(server) == ROWS
        assert server.asked[0].path == "/rows"
        assert server.asked[0].parameters == {"kind": "a"}
        assert server.asked[0].headers["authorization"] == "Bearer s3cret"

    @pytest.mark.parametrize(
        "pages", [CursorPages(by="cursor", next="/next"), NumberedPages(by="page", parameter="kind")]
    )
    def test_that_go_round_in_circles_end(self, server: ApiServer, pages: PagingRule) -> None:
        server.scripted(Given({"next": "x", "rows": ROWS}))

        with pytest.raises(LoadError, match=r"round in circles|more than 3 pages"):
            read(server, pages, pointer="/rows", bounds=replace(QUICK, pages=3))

    def test_are_not_more_than_a_bound(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        with pytest.raises(LoadError, match="more than 3 pages"):
            read(server, NumberedPages(by="page"), bounds=replace(QUICK, pages=3))

    @pytest.mark.parametrize("document", [{"rows": 1}, 5, {"rows": [{"id": 1}, 2]}, {}])
    def test_without_a_list_of_objects_say_so(self, server: ApiServer, document: Any) -> None:
        server.scripted(Given(document))

        with pytest.raises(LoadError, match=r"no list at `/rows`|no object"):
            read(server, pointer="/rows")


def test_a_pointer_goes_where_the_standard_says() -> None:
    document = {"a/b": [{"m~n": 1}], "": 2}

    assert at(document, "") == document
    assert at(document, "/a~1b/0/m~0n") == 1
    assert at(document, "/") == 2
    assert at(document, "/a~1b/1") is None
    assert at(document, "/a~1b/x/y") is None


class TestAnApiInTrouble:
    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_is_asked_again_a_little_later(self, server: ApiServer, status: int) -> None:
        waits = Waits()
        server.scripted(Given(status=status), Given(status=status), Given(ROWS))

        assert read(server, waits=waits) == ROWS
        assert 0 < waits.seconds[0] < waits.seconds[1]

    def test_says_itself_when_it_can_be_asked_again(self, server: ApiServer) -> None:
        waits = Waits()
        at = {"date": "Sun, 22 Nov 2026 00:00:00 GMT", "retry-after": "Sun, 22 Nov 2026 00:01:30 GMT"}
        server.scripted(Given(status=429, headers={"retry-after": "7"}), Given(status=503, headers=at), Given(ROWS))

        assert read(server, waits=waits) == ROWS
        assert waits.seconds == [7, 90]

    def test_is_not_waited_for_all_day(self, server: ApiServer) -> None:
        server.scripted(Given(status=429, headers={"retry-after": "86400"}))

        with pytest.raises(LoadError, match="429 Too Many Requests, and asks to wait 86,400 seconds"):
            read(server)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (Given(status=500), "page 1 of `/rows`: the API answered 500 Internal Server Error, 3 times"),
            (Given(body=b'[{"id": 1}', length=100), "the connection failed"),
            (Given(body=b'[{"id": 1}, {"i'), "the answer is no JSON"),
            (Given(body=b'[{"id": NaN}]'), "`NaN` is no JSON number"),
            (Given(body=b"\xff\xfe"), "the answer is no JSON"),
            (Given(body=b"no", headers={"content-encoding": "gzip"}), "the answer is damaged"),
            (Given(length=100, stalls=True), "no answer for"),
        ],
        ids=["500", "half", "torn", "nan", "binary", "damaged", "never"],
    )
    def test_is_given_up_with_a_sentence(self, server: ApiServer, given: Given, said: str) -> None:
        server.scripted(given)

        with pytest.raises(LoadError) as raised:
            read(server)

        assert said in str(raised.value)
        assert len(server.asked) == QUICK.tries
        assert "s3cret" not in str(raised.value)

    def test_mends_itself_after_half_a_page(self, server: ApiServer) -> None:
        server.scripted(Given(body=b'[{"id": 1}', length=100), Given(ROWS))

        assert read(server) == ROWS

    @pytest.mark.parametrize(("status", "said"), [(404, "look at the stream's path"), (401, "a secret that may")])
    def test_that_refuses_is_not_asked_again(self, server: ApiServer, status: int, said: str) -> None:
        server.scripted(Given(status=status))

        with pytest.raises(LoadError, match=said):
            read(server)

        assert len(server.asked) == 1

    def test_an_answer_without_end_ends_with_the_run(self) -> None:
        ends = threading.Event()
        threading.Timer(0.3, ends.set).start()
        unhurried = replace(QUICK, silence=60, answer=60)
        with (
            raw_server(endless(b"HTTP/1.1 200 OK\r\nx: ", b"y")) as server,
            Api(server.place(), ends.wait, unhurried) as api,
            pytest.raises(EndedError),
        ):
            list(api.pages("/rows", {}, None, ""))

    def test_is_left_when_the_run_has_to_end(self, server: ApiServer) -> None:
        waits = Waits()
        waits.ends = True
        server.scripted(Given(status=500))

        with pytest.raises(EndedError):
            read(server, waits=waits)

    def test_that_is_not_there_is_named(self) -> None:
        with api_server() as gone:
            pass

        with pytest.raises(LoadError, match=r"the connection failed .*3 times; try again later"):
            read(gone)


class TestBounds:
    def test_hold_for_one_page_however_it_is_packed(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS * 100))

        with pytest.raises(LoadError, match="page 1 of `/rows` is larger than 1,000 bytes"):
            read(server, bounds=replace(QUICK, page=1000))

    def test_a_page_that_is_packed_twice_is_refused(self, server: ApiServer) -> None:
        packed = gzip.compress(gzip.compress(json.dumps(ROWS).encode()))
        server.scripted(Given(body=packed, headers={"content-encoding": "gzip, gzip"}))

        with pytest.raises(LoadError, match="page 1 of `/rows`: the answer is packed in another way than gzip"):
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

        with pytest.raises(LoadError, match="the answer is no JSON"):
            read(server, bounds=replace(QUICK, tries=1))

    def test_a_page_that_begins_with_a_byte_order_mark_is_read(self, server: ApiServer) -> None:
        server.scripted(Given(body=json.dumps(ROWS).encode("utf-8-sig")))

        assert read(server) == ROWS

    @pytest.mark.parametrize("cursor", ["\ud800", "a" * 70_000], ids=["half", "long"])
    def test_a_cursor_that_no_address_can_have_is_no_other_error(self, server: ApiServer, cursor: str) -> None:
        server.scripted(Given({"next": cursor, "rows": ROWS}))

        with pytest.raises(LoadError, match=r"round in circles|cannot be read"):
            read(server, CursorPages(by="cursor", next="/next"), pointer="/rows")

    @pytest.mark.parametrize(
        "date",
        ["Sun, 22 Nov 2026 00:00:00 +" + "9" * 20, f"Sun, 22 Nov {'9' * 20} 00:00:00 GMT", "9" * 400, "x"],
        ids=["zone", "year", "seconds", "word"],
    )
    def test_a_time_to_wait_that_cannot_be_read_is_no_other_error(self, server: ApiServer, date: str) -> None:
        server.scripted(Given(status=503, headers={"retry-after": date, "date": date}))

        with pytest.raises(LoadError, match="503"):
            read(server)

    def test_hold_for_all_of_them(self, server: ApiServer) -> None:
        server.scripted(Given(ROWS))

        with pytest.raises(LoadError, match="gives more than 300 bytes"):
            read(server, NumberedPages(by="page"), bounds=replace(QUICK, total=300))

    def test_hold_for_the_values_of_a_page(self, server: ApiServer) -> None:
        server.scripted(Given([{"a": []}] * 101), Given([{"a": []}] * 20))

        with pytest.raises(LoadError, match="page 1 of `/rows` has more than 200 values; ask for smaller pages"):
            read(server, bounds=replace(QUICK, values=200))
        assert len(read(server, bounds=replace(QUICK, values=200))) == 20


class TestTheOrigin:
    def test_is_the_only_place_that_is_asked(self, server: ApiServer) -> None:
        with api_server() as other:
            for way in (
                Given(status=302, headers={"location": f"{other.url}/rows"}),
                Given(ROWS, headers={"link": f'<{other.url}/rows>; rel="next"'}),
            ):
                server.scripted(way)
                with pytest.raises(LoadError, match="not the connection's own address"):
                    read(server, LinkedPages(by="link"))

            assert other.asked == []

    def test_may_lead_to_itself(self, server: ApiServer) -> None:
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
    def test_an_api_leads_to_no_address_above_the_connections(self, server: ApiServer, way: str) -> None:
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

    def test_a_link_is_one_of_the_address_that_a_redirect_led_to(self, server: ApiServer) -> None:
        server.scripted(
            Given(status=302, headers={"location": "/v2/rows"}),
            Given(ROWS[:3], headers={"link": '<more>; rel="next"'}),
            Given(ROWS[3:]),
        )

        assert read(server, LinkedPages(by="link")) == ROWS
        assert [each.path for each in server.asked] == ["/rows", "/v2/rows", "/v2/more"]

    def test_does_not_lead_round_for_ever(self, server: ApiServer) -> None:
        server.scripted(Given(status=302, headers={"location": "/rows"}))

        with pytest.raises(LoadError, match="more than 5 redirects"):
            read(server)

    def test_is_reached_without_what_the_environment_says(
        self, server: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.scripted(Given(ROWS))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

        assert read(server) == ROWS

    def test_keeps_the_path_of_the_connection(self, server: ApiServer) -> None:
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
