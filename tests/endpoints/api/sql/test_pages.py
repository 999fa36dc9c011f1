"""Limits of SQL over HTTP for one caller: the size of pages, and the number of pages and streams at once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import httpx
import pyarrow as pa
import pytest

from headgate.endpoints.api.sql import pages
from headgate.endpoints.api.sql.schemas import ARROW, Statement
from headgate.endpoints.api.sql.sql import _StreamedRows
from headgate.spark.sql.statement_store import StoredStatement
from headgate.spark.sql.statements import RowsDeniedError, SqlLimits, StatementError
from tests.app.server_process import until
from tests.endpoints.api.sql.test_sql import Spark, sent, spark, streamed, world
from tests.fakes.statements import PATIENCE

__all__ = ["spark", "world"]

MEBIBYTE = 1024**2
MOST = 17 * MEBIBYTE
"""The maximum size of an answer: 16 MiB of rows, and the other fields of a statement."""
AT_ONCE = SqlLimits().at_once


def booleans(rows: int, each: int) -> pa.RecordBatch:
    """Lists of booleans, which take one bit each in Arrow."""
    lists = pa.ListArray.from_arrays(range(0, rows * each + 1, each), pa.repeat(True, rows * each))  # noqa: FBT003
    return pa.RecordBatch.from_arrays([lists], names=["a"])


def page(spark: Spark, id: str, who: str = "vic", **query: float) -> httpx.Response:
    answer: httpx.Response = spark.world.call(who, "GET", f"/sql/{id}", **query)
    return answer


def begun(spark: Spark, who: str = "vic", **body: Any) -> str:
    """Execute a statement until it has ended, and return its id; its rows are stored."""
    id = str(sent(spark, who, wait_seconds=0, **body).json()["id"])
    spark.made.last.go.set()
    assert spark.made.last.closed.wait(PATIENCE)
    assert page(spark, id, who, wait_seconds=PATIENCE, start=1_000_000).json()["state"] == "succeeded"
    return id


def open_stream(spark: Spark, who: str = "vic") -> AbstractContextManager[httpx.Response]:
    """Open a stream without reading it."""
    headers = {"authorization": f"Bearer {spark.world.tokens[who]}", "accept": ARROW}
    return spark.world.http.stream("POST", "/api/v1/sql", json={"statement": "SELECT 1"}, headers=headers)


class HeldJson:
    """Blocks the serialization of every page with rows until `go` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written: list[str | None] = []
        """The statement id of each such page."""
        self.go = threading.Event()
        write = Statement.model_dump_json

        def held(answer: Statement) -> str:
            if answer.rows:
                self.written.append(answer.id)
                assert self.go.wait(PATIENCE), "the test did not let the page go on"
            return write(answer)

        monkeypatch.setattr(Statement, "model_dump_json", held)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldJson]:
    holding = HeldJson(monkeypatch)
    yield holding
    holding.go.set()


class Beside:
    """Calls in parallel threads."""

    def __init__(self, count: int, call: Callable[[], httpx.Response]) -> None:
        self.answers: list[httpx.Response] = []
        self._threads = [threading.Thread(target=lambda: self.answers.append(call())) for _ in range(count)]
        for each in self._threads:
            each.start()

    def end(self) -> list[httpx.Response]:
        for each in self._threads:
            each.join(PATIENCE)
        return self.answers


class TestAPage:
    def test_a_page_of_a_hundred_million_booleans_is_a_part_of_bounded_size(self, spark: Spark) -> None:
        spark.has(booleans(100, 1_000_000), waits=True)
        id = begun(spark, limit=100)

        answers = [page(spark, id, start=start, rows=10_000) for start in (0, 1, 99)]

        assert [each.status_code for each in answers] == [200, 200, 200]
        assert max(len(each.content) for each in answers) < MOST
        assert [each.json()["next"] for each in answers] == [1, 2, None]
        assert all(each.headers["content-length"] == str(len(each.content)) for each in answers)

    def test_a_first_answer_of_too_many_booleans_names_the_start_of_the_next_page(self, spark: Spark) -> None:
        spark.has(booleans(100, 100_000))

        answer = sent(spark, limit=100)

        found = answer.json()
        assert len(answer.content) < MOST
        assert len(found["rows"]) == found["next"] == 10
        assert page(spark, found["id"], start=99).json()["next"] is None

    def test_pages_of_every_size_have_each_row_once(self, spark: Spark) -> None:
        sizes = [1 + 7_000_000 * (number % 3) for number in range(10)]
        spark.has(
            pa.RecordBatch.from_pydict({"n": list(range(10)), "text": ["x" * size for size in sizes]}), waits=True
        )
        id, numbers, start = begun(spark), [], 0
        while start is not None:
            answer = page(spark, id, start=start).json()
            numbers += [row[0] for row in answer["rows"]]
            start = answer["next"]

        assert numbers == list(range(10))

    def test_a_row_too_large_for_a_page_is_refused_and_other_rows_remain_readable(self, spark: Spark) -> None:
        spark.has(pa.RecordBatch.from_pydict({"text": ["a", "\x01" * 3 * MEBIBYTE, "b"]}), waits=True)
        id = begun(spark)

        before, refused, after = (page(spark, id, start=start) for start in range(3))

        assert (before.json()["rows"], before.json()["next"]) == ([["a"]], 1)
        assert (refused.status_code, refused.json()["type"]) == (413, "urn:headgate:problem:too-large")
        assert (refused.json()["row"], refused.json()["id"]) == (1, id)
        assert "select fewer columns" in refused.json()["detail"]
        assert ARROW in refused.json()["detail"]
        assert after.json()["rows"] == [["b"]]

    def test_a_first_row_that_is_too_large_is_refused_with_the_id_of_its_statement(self, spark: Spark) -> None:
        spark.has(booleans(2, 2_000_000))

        refused = sent(spark)

        assert refused.status_code == 413
        assert page(spark, refused.json()["id"], start=1).status_code == 413
        assert spark.world.call("vic", "DELETE", f"/sql/{refused.json()['id']}").status_code == 204

    def test_the_size_of_a_row_is_not_revealed_once_access_is_denied(self, spark: Spark) -> None:
        spark.has(booleans(1, 2_000_000), waits=True)
        id = begun(spark)
        spark.made.last.refused = StatementError("you may not", "42501", None)

        assert page(spark, id).status_code == 403

    def test_a_denial_of_stored_rows_is_recorded_in_the_audit(self, spark: Spark) -> None:
        spark.has(booleans(1, 1), waits=True)
        id = begun(spark)
        spark.made.last.refused = RowsDeniedError("you may not")

        assert page(spark, id).status_code == 403

        def recorded() -> list[dict[str, Any]]:
            items = spark.world.call("owner", "GET", "/audit/decisions", principal="vic").json()["items"]
            return [each for each in items if each["code"] == "refused"]

        (found,) = until(recorded, lambda: "the denial is not in the audit")
        assert (found["allowed"], found["action"]) == (False, "GET /sql/{statement}")

    def test_rows_that_arrive_while_their_statement_is_shown_are_in_the_next_page(
        self, spark: Spark, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spark.has(booleans(2, 1_000), waits=True)
        id, show = sent(spark, wait_seconds=0).json()["id"], pages.statement_answer

        def late(kept: StoredStatement, start: int, rows: int) -> Statement:
            spark.made.last.go.set()
            kept.ended.result(PATIENCE)
            return show(kept, start, rows)

        monkeypatch.setattr(pages, "statement_answer", late)
        answer = page(spark, id).json()

        assert (answer["state"], answer["rows"], answer["next"]) == ("succeeded", [], 0)
        assert len(page(spark, id, start=answer["next"]).json()["rows"]) == 2

    def test_another_request_is_answered_while_a_page_is_written(self, spark: Spark, held: HeldJson) -> None:
        spark.has(booleans(100, 1_000_000), waits=True)
        id = begun(spark, limit=100)
        reader = Beside(1, lambda: page(spark, id))
        until(lambda: held.written == [id], lambda: f"written: {held.written}")

        other = spark.world.call("ed", "GET", "/me")

        assert (other.status_code, reader.answers) == (200, [])
        held.go.set()
        assert [each.status_code for each in reader.end()] == [200]

    def test_pages_of_one_principal_are_written_one_at_a_time_beside_those_of_another(
        self, spark: Spark, held: HeldJson
    ) -> None:
        spark.has(booleans(3, 1_000_000), waits=True)
        mine, others = begun(spark), begun(spark, "ed")
        reader = Beside(6, lambda: page(spark, mine))
        until(lambda: held.written == [mine], lambda: f"written: {held.written}")

        other = Beside(1, lambda: page(spark, others, "ed"))
        until(lambda: others in held.written, lambda: f"written: {held.written}")

        assert held.written == [mine, others]
        held.go.set()
        assert [each.status_code for each in reader.end() + other.end()] == [200] * 7

    def test_pages_that_clients_do_not_read_are_counted_until_they_disconnect(self, spark: Spark) -> None:
        spark.has(pa.RecordBatch.from_pydict({"text": ["x" * 15 * MEBIBYTE]}), waits=True)
        id, statements = begun(spark), spark.world.app.state.deployed.statements
        headers = {"authorization": f"Bearer {spark.world.tokens['vic']}"}
        with ExitStack() as unread:
            for _ in range(3):
                unread.enter_context(spark.world.http.stream("GET", f"/api/v1/sql/{id}", headers=headers))
            assert statements.pages._jobs == 3
            assert page(spark, id).status_code == 200

        until(lambda: statements.pages._jobs == 0, lambda: "pages that clients have left are still counted")


class TestStreams:
    @pytest.fixture
    def endless(self, spark: Spark) -> Spark:
        """The fake Spark with more rows in each stream than fit into the buffers of a connection."""
        spark.has(*[pa.RecordBatch.from_pydict({"n": list(range(100_000))})] * 80)
        return spark

    def test_streams_that_clients_do_not_read_are_bounded(self, endless: Spark) -> None:
        with ExitStack() as opened:
            streams = [opened.enter_context(open_stream(endless)) for _ in range(AT_ONCE)]
            assert {each.status_code for each in streams} == {200}

            refused, kept = streamed(endless), sent(endless, wait_seconds=0)

            assert (refused.status_code, kept.status_code) == (429, 429)
            assert refused.json()["detail"] == kept.json()["detail"]
            assert "retry-after" in refused.headers
            assert sent(endless, "ed", limit=1).status_code == 200
            assert len(endless.made.begun) == AT_ONCE + 1

            streams[0].close()
            endless.made.begun[0][1].closed.wait(PATIENCE)
            until(
                lambda: sent(endless, limit=1).status_code == 200,
                lambda: "streams that clients have left are still counted",
            )
        for _, reading in endless.made.begun:
            assert reading.closed.wait(PATIENCE)

    def test_a_stream_abandoned_before_its_first_row_frees_its_place(self, spark: Spark) -> None:
        spark.has(waits=True, limits=SqlLimits(at_once=1))
        with pytest.raises(httpx.ReadTimeout):
            spark.world.http.post(
                "/api/v1/sql",
                json={"statement": "SELECT 1"},
                headers={"authorization": f"Bearer {spark.world.tokens['vic']}", "accept": ARROW},
                timeout=0.5,
            )

        assert spark.made.last.closed.wait(PATIENCE)
        until(
            lambda: sent(spark, wait_seconds=0).status_code == 202,
            lambda: "streams that clients have left are still counted",
        )

    def test_a_stream_that_fails_frees_its_place(self, spark: Spark) -> None:
        spark.has(error=StatementError("no", "42703", None), limits=SqlLimits(at_once=1))

        assert [streamed(spark).status_code for _ in range(3)] == [400, 400, 400]

    def test_a_stream_that_was_read_completely_frees_its_place(self, spark: Spark) -> None:
        spark.has(limits=SqlLimits(at_once=1))

        assert [streamed(spark).status_code for _ in range(20)] == [200] * 20

    def test_a_stream_is_closed_when_nothing_of_it_can_be_sent(self) -> None:
        closed: list[bool] = []

        async def attempt() -> None:
            async def rows() -> Any:
                yield b""

            async def close() -> None:
                closed.append(True)

            async def fail(_: Any) -> None:
                raise RuntimeError("the client has disconnected")

            scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
            await _StreamedRows(rows(), close)(scope, fail, fail)  # type: ignore[arg-type]

        with pytest.raises(RuntimeError):
            asyncio.run(attempt())
        assert closed == [True]

    def test_the_rows_of_a_stream_are_authorized_in_the_thread_that_reads_them(
        self, spark: Spark, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, threads = spark.has(), list[str]()
        begin = made.begin

        def watched(*given: Any) -> Any:
            reading = begin(*given)
            monkeypatch.setattr(reading, "decide_again", lambda _: threads.append(threading.current_thread().name))
            return reading

        monkeypatch.setattr(made, "begin", watched)

        assert streamed(spark).status_code == 200
        assert len(threads) == 1
        assert threads[0].startswith("headgate-sql")
