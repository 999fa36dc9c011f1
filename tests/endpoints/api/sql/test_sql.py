"""SQL over HTTP: rows, Arrow, waiting, progress, cancellation, and the text of a refusal."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pyarrow as pa
import pytest

from headgate.endpoints.api.sql.schemas import ARROW, PAGE
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import SEVERAL, SqlLimits, StatementError, StatementRequest
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.fakes.statements import PATIENCE, FakeSpark

REFUSAL = (
    "[HEADGATE_ACCESS_DENIED] vic: there is no `lake.secret.s` that you may see. To ask for access: "
    "https://headgate.example/o/organization/api/v1/requests?action=table.select&resource=lake.secret.s SQLSTATE: 42501"
)


class Spark:
    """The fake Spark that executes the statements of a test."""

    def __init__(self, world: DeploymentHarness) -> None:
        self.world = world
        self.made = FakeSpark()

    def has(self, *batches: pa.RecordBatch, limits: SqlLimits | None = None, **more: Any) -> FakeSpark:
        """Execute all statements with this result from now on."""
        self.made = FakeSpark(*batches, **more)
        statements = StatementStore(self.made, limits or SqlLimits())
        self.world.app.state.deployed = replace(self.world.app.state.deployed, statements=statements)
        return self.made

    @property
    def wanted(self) -> StatementRequest:
        """The last request to the fake Spark."""
        return self.made.last.wanted


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("sql")) as opened:
        opened.add("vic")
        opened.add("ed")
        yield opened


@pytest.fixture
def spark(world: DeploymentHarness) -> Iterator[Spark]:
    before = world.app.state.deployed
    opened = Spark(world)
    yield opened
    for _, reading in opened.made.begun:
        reading.cancel("the test is over")
    world.app.state.deployed = before


def numbers(rows: int, start: int = 0) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(range(start, start + rows))})


def sent(spark: Spark, who: str = "vic", **body: Any) -> httpx.Response:
    return spark.world.call(who, "POST", "/sql", {"statement": "SELECT 1", **body})


def streamed(spark: Spark, **body: Any) -> httpx.Response:
    return spark.world.send("vic", "POST", "/sql", {"statement": "SELECT 1", **body}, {"accept": ARROW})


class TestRows:
    def test_the_rows_of_a_statement_are_returned_with_their_columns(self, spark: Spark) -> None:
        spark.has(numbers(2))

        answer = sent(spark).json()

        assert answer["columns"] == [{"name": "n", "type": "int64"}]
        assert answer["rows"] == [[0], [1]]
        assert (answer["state"], answer["id"], answer["more"], answer["next"]) == ("succeeded", None, False, None)

    def test_an_answer_has_at_most_as_many_rows_as_requested(self, spark: Spark) -> None:
        spark.has(numbers(2), numbers(2, 2))

        answer = sent(spark, limit=3).json()

        assert [row[0] for row in answer["rows"]] == [0, 1, 2]
        assert answer["more"]

    def test_the_default_limit_is_1000_rows(self, spark: Spark) -> None:
        spark.has()

        sent(spark)

        assert spark.wanted.rows == 1000

    def test_columns_of_the_same_name_are_all_returned(self, spark: Spark) -> None:
        spark.has(pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"]))

        assert sent(spark).json()["rows"] == [[1, 2]]

    def test_rows_that_exceed_one_answer_are_fetched_in_pages(self, spark: Spark) -> None:
        spark.has(numbers(PAGE + 5))

        first = sent(spark, limit=PAGE + 5).json()
        rest = spark.world.call("vic", "GET", f"/sql/{first['id']}", start=first["next"]).json()

        assert len(first["rows"]) == first["next"] == PAGE
        assert [row[0] for row in rest["rows"]] == list(range(PAGE, PAGE + 5))
        assert rest["next"] is None

    def test_values_that_json_cannot_represent_are_returned_as_text(self, spark: Spark) -> None:
        spark.has(pa.RecordBatch.from_pydict({"a": [b"\xff"], "b": [float("nan")], "c": [float("-inf")]}))

        assert sent(spark).json()["rows"] == [["_w==", "NaN", "-Infinity"]]


class TestWhatIsAsked:
    @pytest.mark.parametrize("parameters", [{"a": 1, "b": "x", "c": None, "d": 1.5, "e": True}, [1, "x", None], {}, []])
    def test_a_statement_accepts_parameters_by_name_or_by_position(self, spark: Spark, parameters: Any) -> None:
        spark.has()

        assert sent(spark, parameters=parameters).status_code == 200
        assert spark.wanted.parameters == parameters

    @pytest.mark.parametrize("parameters", [{"a": {"b": 1}}, [[1]], "x", {"a": 2**63}, {"a": -(2**63) - 1}])
    def test_a_parameter_that_is_no_single_value_is_refused(self, spark: Spark, parameters: Any) -> None:
        spark.has()

        assert sent(spark, parameters=parameters).status_code == 422

    def test_the_requested_limits_are_capped_by_those_of_the_deployment(self, spark: Spark) -> None:
        spark.has(limits=SqlLimits(rows=5, kept_bytes=100, seconds=9.0))

        sent(spark, limit=50, bytes=1000, seconds=60)
        assert (spark.wanted.rows, spark.wanted.bytes, spark.wanted.seconds) == (5, 100, 9.0)
        sent(spark, limit=4, bytes=10, seconds=6)
        assert (spark.wanted.rows, spark.wanted.bytes, spark.wanted.seconds) == (4, 10, 6.0)

    @pytest.mark.parametrize("body", [{"limit": 0}, {"bytes": 0}, {"seconds": 0}, {"wait_seconds": -1}, {"rows": 1}])
    def test_a_statement_request_with_an_invalid_field_is_refused(self, spark: Spark, body: dict[str, Any]) -> None:
        spark.has()

        assert sent(spark, **body).status_code == 422

    def test_a_request_of_several_statements_is_refused_with_the_reason(self, spark: Spark) -> None:
        spark.has(error=StatementError("one statement at a time", "42601", SEVERAL))

        answer = sent(spark, statement="SELECT 1; SELECT 2")

        assert (answer.status_code, answer.json()["detail"]) == (422, "one statement at a time")


class TestAnArrowStream:
    def test_an_arrow_stream_has_the_rows_and_their_schema(self, spark: Spark) -> None:
        spark.has(numbers(3), numbers(2, 3))

        answer = streamed(spark)

        assert answer.headers["content-type"] == ARROW
        assert pa.ipc.open_stream(answer.content).read_all()["n"].to_pylist() == [0, 1, 2, 3, 4]
        assert spark.made.last.closed.wait(PATIENCE)

    def test_an_arrow_stream_has_the_row_limit_of_the_deployment(self, spark: Spark) -> None:
        spark.has(limits=SqlLimits(rows=77))

        streamed(spark)

        assert spark.wanted.rows == 77

    def test_an_arrow_stream_ends_at_the_requested_limit(self, spark: Spark) -> None:
        spark.has(numbers(3))

        assert pa.ipc.open_stream(streamed(spark, limit=2).content).read_all().num_rows == 2

    def test_an_arrow_stream_cut_off_by_the_deployment_limit_ends_with_an_error(self, spark: Spark) -> None:
        spark.has(numbers(3), limits=SqlLimits(rows=2))

        with pytest.raises(httpx.RemoteProtocolError):
            streamed(spark)

    def test_an_arrow_stream_is_aborted_once_the_caller_may_no_longer_read_its_rows(self, spark: Spark) -> None:
        spark.has(numbers(3), waits=True)
        threading.Timer(0.2, lambda: self.refuse(spark)).start()

        with pytest.raises(httpx.RemoteProtocolError):
            streamed(spark)

        assert [each.principal for each in spark.made.last.readers] == [spark.world.caller("vic").principal]

    def refuse(self, spark: Spark) -> None:
        """Continue the statement, whose rows are refused now."""
        spark.made.last.refused = StatementError(REFUSAL, "42501", None)
        spark.made.last.go.set()

    def test_an_arrow_stream_that_fails_before_its_first_row_is_a_problem(self, spark: Spark) -> None:
        spark.has(error=StatementError(REFUSAL, "42501", None))

        answer = streamed(spark)

        assert (answer.status_code, answer.json()["sqlstate"]) == (403, "42501")
        assert spark.made.last.closed.wait(PATIENCE)

    def test_an_arrow_stream_does_not_accept_wait_seconds(self, spark: Spark) -> None:
        spark.has()

        assert streamed(spark, wait_seconds=1).status_code == 422


class TestAStatementUnderWay:
    def test_a_running_statement_is_answered_with_its_location_and_progress(self, spark: Spark) -> None:
        spark.has(numbers(2), waits=True)

        started = sent(spark, wait_seconds=0)

        assert started.status_code == 202
        answer = started.json()
        assert answer["state"] == "running"
        assert answer["progress"] == {
            "stages": 2, "stages_done": 1, "tasks": 8, "tasks_done": 3, "tasks_running": 2, "bytes": 1000,
        }  # fmt: skip
        assert started.headers["location"].endswith(f"/api/v1/sql/{answer['id']}")
        assert spark.world.call("vic", "GET", f"/sql/{answer['id']}").json()["rows"] == []

    def test_a_finished_statement_returns_its_rows_in_pages(self, spark: Spark) -> None:
        spark.has(numbers(5), waits=True)
        id = sent(spark, wait_seconds=0).json()["id"]

        spark.made.last.go.set()
        assert spark.made.last.closed.wait(PATIENCE)
        answer = self.when_ended(spark, id, start=1, rows=2)

        assert (answer["state"], answer["rows"], answer["next"]) == ("succeeded", [[1], [2]], 3)

    def test_a_statement_that_finishes_within_the_wait_returns_its_rows(self, spark: Spark) -> None:
        spark.has(numbers(2))

        answer = sent(spark, wait_seconds=PATIENCE)

        assert (answer.status_code, answer.json()["rows"]) == (200, [[0], [1]])

    def test_a_failed_statement_shows_its_problem(self, spark: Spark) -> None:
        spark.has(waits=True, error=StatementError(REFUSAL, "42501", None))
        id = sent(spark, wait_seconds=0).json()["id"]

        spark.made.last.go.set()
        answer = self.when_ended(spark, id)

        assert answer["state"] == "failed"
        assert answer["problem"]["sqlstate"] == "42501"

    def test_a_statement_can_be_cancelled_by_its_caller(self, spark: Spark) -> None:
        spark.has(waits=True)
        id = sent(spark, wait_seconds=0).json()["id"]

        assert spark.world.call("vic", "DELETE", f"/sql/{id}").status_code == 204

        assert spark.made.last.why == "its caller cancelled it"
        assert spark.world.call("vic", "GET", f"/sql/{id}").status_code == 404

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_a_statement_of_another_token_is_answered_like_a_missing_one(self, spark: Spark, method: str) -> None:
        spark.has(waits=True)
        id = sent(spark, wait_seconds=0).json()["id"]
        spark.world.tokens["vic again"] = spark.world.token(spark.world.caller("vic").principal)

        for who in ("ed", "owner", "vic again"):
            foreign, absent = (spark.world.call(who, method, f"/sql/{each}") for each in (id, "s_nosuch"))
            assert foreign.status_code == absent.status_code == 404
            assert foreign.text.replace(id, "ID") == absent.text.replace("s_nosuch", "ID")
        assert spark.world.call("vic", "GET", f"/sql/{id}").status_code == 200
        assert spark.made.last.why is None

    def test_the_stored_rows_of_a_statement_are_forbidden_once_access_is_revoked(self, spark: Spark) -> None:
        spark.has(numbers(3), waits=True)
        id = sent(spark, wait_seconds=0).json()["id"]
        spark.made.last.refused = StatementError(REFUSAL, "42501", None)
        assert spark.world.call("vic", "GET", f"/sql/{id}").json()["state"] == "running"

        spark.made.last.go.set()
        assert spark.made.last.closed.wait(PATIENCE)
        answer = spark.world.call("vic", "GET", f"/sql/{id}", wait_seconds=PATIENCE)

        assert (answer.status_code, answer.json()["sqlstate"]) == (403, "42501")

    def test_a_statement_of_a_deleted_token_is_unauthorized(self, spark: Spark) -> None:
        world = spark.world
        spark.has(waits=True)
        issued = world.call("vic", "POST", "/tokens", {}).json()
        world.tokens["ending"] = issued["token"]
        id = sent(spark, "ending", wait_seconds=0).json()["id"]

        world.call("vic", "DELETE", f"/tokens/{issued['id']}")

        assert [world.call("ending", each, f"/sql/{id}").status_code for each in ("GET", "DELETE")] == [401, 401]
        assert sent(spark, "ending").status_code == 401

    def test_a_statement_is_cancelled_when_its_waiting_client_disconnects(self, spark: Spark) -> None:
        spark.has(waits=True)

        with pytest.raises(httpx.ReadTimeout):
            spark.world.http.post(
                "/api/v1/sql",
                json={"statement": "SELECT 1"},
                headers={"authorization": f"Bearer {spark.world.tokens['vic']}"},
                timeout=0.5,
            )

        assert spark.made.last.closed.wait(PATIENCE)
        assert spark.made.last.why == "the client has disconnected"

    def test_statements_of_one_caller_run_concurrently(self, spark: Spark) -> None:
        made = spark.has(waits=True)
        answers: list[int] = []
        threads = [threading.Thread(target=lambda: answers.append(sent(spark).status_code)) for _ in range(3)]
        for each in threads:
            each.start()
        for _ in range(200):
            if len(made.begun) == 3:
                break
            threading.Event().wait(0.05)

        assert len(made.begun) == 3
        for _, reading in made.begun:
            reading.go.set()
        for each in threads:
            each.join(PATIENCE)
        assert answers == [200, 200, 200]

    def test_the_running_statements_of_a_caller_are_limited(self, spark: Spark) -> None:
        spark.has(waits=True, limits=SqlLimits(at_once=1))
        sent(spark, wait_seconds=0)

        refused = sent(spark, wait_seconds=0)

        assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
        assert sent(spark, "ed", wait_seconds=0).status_code == 202

    def when_ended(self, spark: Spark, id: str, **query: int) -> dict[str, Any]:
        """Return the answer once the statement has ended."""
        for _ in range(400):
            answer = spark.world.call("vic", "GET", f"/sql/{id}", **query).json()
            if answer["state"] != "running":
                return dict(answer)
            threading.Event().wait(0.05)
        raise AssertionError("the statement is still running")


class TestARefusal:
    def test_a_refusal_names_the_reason_the_missing_privilege_and_the_request_link(self, spark: Spark) -> None:
        spark.has(error=StatementError(REFUSAL, "42501", "HEADGATE_ACCESS_DENIED"))

        answer = sent(spark)

        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (403, "urn:headgate:problem:refused")
        assert problem["sqlstate"] == "42501"
        assert problem["reason"] == "vic: there is no `lake.secret.s` that you may see"
        assert problem["missing"] == [{"action": "table.select", "resource": "lake.secret.s"}]
        assert problem["ask"] == (
            "https://headgate.example/o/organization/api/v1/requests?action=table.select&resource=lake.secret.s"
        )

    def test_a_refusal_that_no_grant_can_lift_has_no_request_link(self, spark: Spark) -> None:
        spark.has(
            error=StatementError("a path can be used only through a connection that a pipeline declares", "42501", None)
        )

        problem = sent(spark).json()

        assert problem["reason"] == "a path can be used only through a connection that a pipeline declares"
        assert "ask" not in problem
        assert "missing" not in problem

    def test_a_refusal_by_the_gateway_has_the_same_sqlstate(self, spark: Spark) -> None:
        spark.has(error=StatementError("the privilege was revoked", None, "PERMISSION_DENIED"))

        assert sent(spark).json()["sqlstate"] == "42501"

    def test_an_error_of_spark_is_a_bad_request_without_a_request_link(self, spark: Spark) -> None:
        spark.has(error=StatementError("nope cannot be resolved", "42703", "UNRESOLVED_COLUMN"))

        answer = sent(spark)

        assert (answer.status_code, answer.json()["sqlstate"]) == (400, "42703")
        assert "ask" not in answer.json()

    def test_a_cancelled_statement_is_a_conflict(self, spark: Spark) -> None:
        spark.has(error=StatementError("it took longer than 2 seconds", "57014", "CANCELLED"))

        assert sent(spark).status_code == 409

    def test_a_statement_sent_while_spark_starts_is_answered_with_retry_after(self, world: DeploymentHarness) -> None:
        answer = world.call("vic", "POST", "/sql", {"statement": "SELECT 1"})

        assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
