"""The fast path gives the same answers as the normal path, and leaves unusual requests to it."""

import json
from collections.abc import Iterator, Mapping

import pytest

from headgate.endpoints.http.fast_path import FastPath, FastResponse
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import of_principals
from headgate.endpoints.http.request_context import RequestContext
from tests.endpoints.http.asgi_client import guarded
from tests.endpoints.http.test_connection import LAST, Address, exchange, listening, statuses

LIMITS = Limits(body=1000, depth=5, header_seconds=5, body_seconds=5)
AT_ONCE = b"at once"


class Door:
    """Authenticates `ann`, and answers unless the body prevents it."""

    def knows(self, secret: str) -> str | None:
        return {"ann": "p-ann"}.get(secret)

    def answer(
        self, target: bytes, headers: Mapping[bytes, bytes], body: bytes, secret: str, request: str
    ) -> FastResponse | None:
        if b"fail" in body:
            raise LookupError("a secret of the inside")
        try:
            said = json.dumps({"body": body.decode(), "at once": True}).encode()
        except UnicodeDecodeError:
            return None
        return (
            None
            if b"slow" in body
            else FastResponse(said, "/things/{name}", headers.get(b"content-type", b"").decode(), "o-1")
        )


class Served:
    def __init__(self, address: Address, told: list[RequestContext]) -> None:
        self.address = address
        self.told = told


@pytest.fixture
def served() -> Iterator[Served]:
    told: list[RequestContext] = []
    express = FastPath({b"/things/fast": Door()}, of_principals(LIMITS), (told.append,), LIMITS)
    with listening(guarded(limits=LIMITS), LIMITS, express, server_header=False) as address:
        yield Served(address, told)


def post(body: bytes = b"{}", *, token: bytes = b"ann", more: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    return (
        b"POST /things/fast HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer %b\r\nContent-Length: %d\r\n%b\r\n%b" % (token, len(body), more, body)
    )


def heads(answers: bytes) -> list[dict[str, str]]:
    """Return the headers of each answer."""
    parts = [part.split(b"\r\n\r\n")[0].decode().splitlines()[1:] for part in answers.split(b"HTTP/1.1 ")[1:]]
    return [dict(line.split(": ", 1) for line in part) for part in parts]


class TestTheShortWay:
    def test_the_fast_path_answers_with_the_same_headers_as_the_normal_path(self, served: Served) -> None:
        answers = exchange(served.address, post(more=b"X-Request-Id: caller-0001\r\n"), post(b'"slow"'), LAST)

        short, usual, _ = heads(answers)
        assert statuses(answers) == [200, 200, 200]
        assert short.keys() == usual.keys()
        assert short["x-request-id"] == "caller-0001"
        same = set(short) - {"x-request-id", "content-length", "date"}
        assert {name: short[name] for name in same} == {name: usual[name] for name in same}

    def test_the_fast_path_reports_each_request_to_its_observers(self, served: Served) -> None:
        exchange(served.address, post(), LAST)

        (told,) = served.told
        assert (told.route, told.status, told.principal, told.organization) == ("/things/{name}", 200, "p-ann", "o-1")

    def test_the_fast_path_answers_pipelined_requests_in_order(self, served: Served) -> None:
        sent = ["1", '"slow 2"', "3", '"slow 4"', "5"]

        answers = exchange(served.address, b"".join(post(each.encode()) for each in sent) + LAST)

        bodies = [json.loads(part.split(b"\r\n\r\n", 1)[1]) for part in answers.split(b"HTTP/1.1 ")[1:]]
        assert [each["body"] for each in bodies] == [*sent, ""]
        assert "at once" in bodies[0]

    def test_the_fast_path_answers_one_request_of_the_bytes_received_at_once(self, served: Served) -> None:
        """A client may send the next one after a write that the check for the first one did not see."""
        answers = exchange(served.address, post(b"1") + post(b"2") + LAST)

        assert statuses(answers) == [200, 200, 200]
        assert [told.organization for told in served.told] == ["o-1"]

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            (post(token=b"ben"), 200),
            (post(more=b"Expect: 100-continue\r\n"), 200),
            (post(more=b"X-Request-Id: a\r\nX-Request-Id: b\r\n"), 200),
            (post(b'"fail"'), 200),
            (post(more=b"Authorization: Bearer ben\r\n"), 400),
            (post(b"\xff"), 400),
            (post(b"[" * 9), 400),
            (post(b" " * 1001), 413),
            (post(more=b"".join(b"X-%d: a\r\n" % each for each in range(70))), 431),
        ],
    )
    def test_an_unusual_request_does_not_take_the_fast_path(self, served: Served, sent: bytes, status: int) -> None:
        answers = exchange(served.address, sent, LAST)

        assert AT_ONCE not in answers
        assert statuses(answers)[-2 if status == 200 else 0] == status
        assert b"secret" not in answers

    def test_the_fast_path_answers_a_request_with_a_body_that_arrives_in_pieces(self, served: Served) -> None:
        whole = post(b'{"a": 1}')

        for cut in range(len(whole) - 9, len(whole)):
            answers = exchange(served.address, whole[:cut], whole[cut:] + LAST)
            assert statuses(answers) == [200, 200]


def test_the_rate_limit_of_a_principal_also_holds_on_the_fast_path() -> None:
    limits = Limits(principal_rate=0.001, burst_seconds=2000)
    express = FastPath({b"/things/fast": Door()}, of_principals(limits), (), limits)
    headers = [(b"host", b"h"), (b"authorization", b"Bearer ann"), (b"content-length", b"2")]

    answers = [express.answer(b"/things/fast", headers, b"{}", 100, [], "http") is not None for _ in range(3)]

    assert answers == [True, True, False]


def test_a_request_that_the_fast_path_leaves_to_the_normal_path_takes_no_token() -> None:
    limits = Limits(principal_rate=0.001, burst_seconds=1000)
    express = FastPath({b"/things/fast": Door()}, of_principals(limits), (), limits)
    headers = [(b"host", b"h"), (b"authorization", b"Bearer ann"), (b"content-length", b"6")]

    answers = [
        express.answer(b"/things/fast", headers, body, 100, [], "http") for body in (b'"slow"', b'"slow"', b'"fast"')
    ]

    assert [answer is not None for answer in answers] == [False, False, True]
