"""The benchmark of HTTP servers: it sends every server the same requests, checks every answer, and works."""

import asyncio

import pytest
from typing_extensions import override

from bench.http_engines.case import Case, Exchange, WrongAnswerError
from bench.http_engines.compare import main
from bench.http_engines.figures import Figure, Measured, aims, measured
from bench.http_engines.load import Taken, load, whole

HEAD = b"HTTP/1.1 200 OK\r\n"


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("received", "body"),
        [
            (HEAD + b"Content-Length: 2\r\n\r\nhi", b"hi"),
            (HEAD + b"content-length: 2\r\n\r\nh", None),
            (HEAD + b"Content-Len", None),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n", b"hi!"),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", None),
            (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        ],
    )
    def test_an_answer_is_complete_when_its_whole_body_is_received(self, received: bytes, body: bytes | None) -> None:
        assert whole(received) == body


def asked(
    cases: list[Case], *, answer: bytes = b"yes", status: bytes = b"200 OK", clients: int = 2
) -> tuple[Taken, list[bytes]]:
    """Ask a server that gives every client the same answer; return the measurement and the requests of the server."""
    heard: list[bytes] = []

    class Served(asyncio.Protocol):
        @override
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            self.transport = transport

        @override
        def data_received(self, data: bytes) -> None:
            heard.append(data.strip())
            self.transport.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(answer), answer))

    async def run() -> Taken:
        server = await asyncio.get_running_loop().create_server(Served, "127.0.0.1", 0)
        async with server:
            return await load(server.sockets[0].getsockname()[1], bytes.decode, iter(cases), clients, 10)

    return asyncio.run(run()), heard


def case(*requests: bytes, right: str = "yes", after: tuple[Exchange, ...] = ()) -> Case:
    return Case(tuple(Exchange(request + b"\n", right) for request in requests), after)


class TestLoad:
    def test_the_load_sends_every_case_once_and_measures_its_time(self) -> None:
        taken, heard = asked([case(b"%d" % number) for number in range(50)], clients=5)

        assert sorted(map(int, heard)) == [*range(50)]
        assert len(taken.each) == 50
        assert taken.seconds > 0

    def test_the_load_sends_the_requests_of_a_case_in_order_and_then_reverts_it(self) -> None:
        taken, heard = asked([case(b"a", b"b", after=(Exchange(b"undo\n", "yes"),)), case(b"c")], clients=1)

        assert heard == [b"a", b"b", b"undo", b"c"]
        assert len(taken.each) == 2

    @pytest.mark.parametrize(("answer", "status"), [(b"no", b"200 OK"), (b"yes", b"503 Service Unavailable")])
    def test_the_load_ends_at_a_wrong_answer(self, answer: bytes, status: bytes) -> None:
        with pytest.raises(WrongAnswerError, match="question"):
            asked([case(b"question")], answer=answer, status=status)


class TestFigures:
    def test_a_figure_combines_the_times_of_all_rounds(self) -> None:
        rounds = [Taken([1, 3], 1.0), Taken([2, 9], 2.0), Taken([4, 5], 0.5)]

        assert measured(Figure("batch", 1, 100), rounds) == Measured(200.0, 4, 9)
        assert measured(Figure("revoke", 1), [Taken()]) is None

    def test_figures_are_compared_with_the_aims_of_their_measurement(self) -> None:
        ours, theirs = Measured(1300.0, 90.0, 0.0), Measured(1000.0, 100.0, 0.0)
        figures = [Figure("table", 16), Figure("table", 1)]

        found = aims({"headgate": dict.fromkeys(figures, ours), "opa": dict.fromkeys(figures, theirs)})

        assert [(each.value, each.met) for each in found] == [("x 1.30", True), ("x 0.90", True)]


@pytest.mark.timeout(240)
def test_a_quick_run_measures_our_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--engines", "headgate"]) == 0

    printed = capsys.readouterr().out
    assert "headgate: 2,000 answers agree with the oracle" in printed
    assert "durable grants per second" in printed
