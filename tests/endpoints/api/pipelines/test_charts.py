"""Charts over HTTP: stored rows of runs and newly executed queries, for callers who may read the inputs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pyarrow as pa
import pytest

from headgate.control.kernel.ports import DocumentPut
from headgate.control.questions.messages import with_request_link
from headgate.control.text.error_text import REFUSED_STATE
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definitions.chart import MOST_BYTES, MOST_DRAWN_ROWS
from headgate.pipelines.writing.cached_rows import row_saver
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import SqlLimits, StatementError, StatementRequest
from headgate.untrusted_input.blocking_pool import CHART_LIMITS, BlockingPool
from headgate.untrusted_input.purposes import CHARTS
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.fakes.statements import FakeSpark

ROWS = {"columns": [["car<b>", "string"], ["n.of[0]", "bigint"]], "rows": [["<script>alert(1)</script>", 3], [None, 4]]}
CHART = {"type": "bar", "x": "car<b>", "y": "n.of[0]", "title": "</text><script>"}
PLAN = "== Analyzed Logical Plan ==\nSubqueryAlias lake.{0}\n\n== Optimized Logical Plan ==\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """Two tables; vic may see `raw.t`, ed may edit it, and only the owner may discover `secret.s`."""
    with world_in(tmp_path_factory.mktemp("charts")) as opened:
        for database, table in (("raw", "t"), ("secret", "s")):
            body = {"type": "table", "parent": f"lake.{database}", "name": table}
            assert opened.call("owner", "POST", "/resources", body).status_code == 201
        for name, role in (("vic", "viewer"), ("ed", "editor")):
            opened.add(name)
            opened.give(name, role, "lake.raw.t")
        opened.add("sam")
        yield opened


def definition(kind: str, name: str, table: str = "raw.t", **more: Any) -> dict[str, Any]:
    """Return a definition that selects everything in a table."""
    inputs = {"inputs": [f"lake.{table}"], "sql": f"SELECT * FROM lake.{table}"}
    return {"kind": kind, "name": name, **inputs, "chart": CHART, **more}


def save(world: DeploymentHarness, saved: dict[str, Any], by: str = "ed") -> httpx.Response:
    """Save a definition."""
    answer: httpx.Response = world.call(by, "PUT", f"/pipelines/{saved['name']}", saved)
    return answer


def refusals(world: DeploymentHarness, path: str, *who: str) -> set[int]:
    """Return the status codes of the answers to these users."""
    return {world.call(each, "GET", f"/pipelines/{path}").status_code for each in who}


class TestAVisualization:
    @pytest.fixture
    def shown(self, world: DeploymentHarness) -> str:
        """A visualization of `raw.t` by ed, with the stored rows of a run."""
        assert save(world, definition("visualization", "cars")).status_code == 200
        self.keep(world)
        return "cars"

    @staticmethod
    def keep(world: DeploymentHarness) -> None:
        """Store rows like a run of the visualization."""
        id = world.call("owner", "GET", "/pipelines/cars").json()["id"]
        row_saver(world.control, world.opened.store, RunId("run_1"), id)({**ROWS, "cut": False})

    def test_a_visualization_shows_the_rows_of_its_last_run_to_permitted_callers(
        self, world: DeploymentHarness, shown: str
    ) -> None:
        answer = world.call("vic", "GET", f"/pipelines/{shown}/rows").json()

        assert (answer["rows"], answer["run"]) == (ROWS["rows"], "run_1")
        assert refusals(world, f"{shown}/rows", "sam") == {404}

    def test_a_chart_is_an_image_without_scripts(self, world: DeploymentHarness, shown: str) -> None:
        answer = world.call("vic", "GET", f"/pipelines/{shown}/chart.svg")

        assert answer.headers["content-type"] == "image/svg+xml"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "<script" not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert refusals(world, f"{shown}/chart.svg", "sam") == {404}

    def test_rows_of_a_former_input_are_hidden_from_callers_that_may_not_read_it(
        self, world: DeploymentHarness, shown: str
    ) -> None:
        assert save(world, definition("visualization", shown, "secret.s"), "owner").status_code == 200
        self.keep(world)
        assert save(world, definition("visualization", shown), "owner").status_code == 200

        assert refusals(world, f"{shown}/rows", "vic", "ed") == {404}
        assert world.call("owner", "GET", f"/pipelines/{shown}/rows").json()["rows"] == ROWS["rows"]

    def test_a_deleted_visualization_loses_its_stored_rows(self, world: DeploymentHarness, shown: str) -> None:
        id = world.call("owner", "GET", f"/pipelines/{shown}").json()["id"]
        world.call("owner", "DELETE", f"/pipelines/{shown}")

        assert world.opened.store.document("shown", id) is None

    def test_a_chart_of_a_column_missing_in_the_rows_is_refused(self, world: DeploymentHarness, shown: str) -> None:
        save(world, definition("visualization", shown, chart={"type": "line", "x": "nosuch", "y": "n.of[0]"}))

        answer = world.call("vic", "GET", f"/pipelines/{shown}/chart.svg")

        assert answer.status_code == 409
        assert "no column `nosuch`" in answer.json()["detail"]

    def test_a_visualization_without_a_run_has_no_rows(self, world: DeploymentHarness) -> None:
        assert save(world, definition("visualization", "new")).status_code == 200

        assert refusals(world, "new/rows", "vic", "owner") == {404}


UNWRITABLE = ("\x00", "\x01", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff")
"""Characters that XML cannot contain. The library that draws charts ended the server at one of them."""


@contextmanager
def drawn_by(world: DeploymentHarness, pool: BlockingPool) -> Iterator[None]:
    """Draw the charts of the world with this pool until the block ends."""
    before = world.app.state.deployed
    world.app.state.deployed = replace(before, charts=pool)
    try:
        yield
    finally:
        world.app.state.deployed = before
        pool.close()


class TestAHostileChart:
    @pytest.fixture
    def hostile(self, world: DeploymentHarness) -> str:
        """The id of a visualization of `raw.t`."""
        chart = {"type": "bar", "x": "c", "y": "n", "title": "t"}
        assert save(world, definition("visualization", "hostile", chart=chart)).status_code == 200
        return str(world.call("owner", "GET", "/pipelines/hostile").json()["id"])

    @staticmethod
    def picture(world: DeploymentHarness, id: str, *cells: Any, column: str = "c") -> httpx.Response:
        """Return the chart of a run that stored a row for each of these cells."""
        rows = [[cell, 1] for cell in cells]
        kept = {"columns": [[column, "string"], ["n", "bigint"]], "rows": rows, "cut": False}
        row_saver(world.control, world.opened.store, RunId("run_1"), ResourceId(id))(kept)
        answer: httpx.Response = world.call("vic", "GET", "/pipelines/hostile/chart.svg")
        return answer

    def test_a_character_that_xml_cannot_hold_is_replaced_in_cells(
        self, world: DeploymentHarness, hostile: str
    ) -> None:
        # The store refuses documents with a surrogate.
        written = [each for each in UNWRITABLE if each != "\ud800"]

        answer = self.picture(world, hostile, *[f"a{each}b" for each in written], {"k\x01": ["v\x00"]})

        assert answer.status_code == 200
        assert "a\ufffdb" in answer.text

    def test_a_character_that_xml_cannot_hold_is_replaced_in_a_column_name(
        self, world: DeploymentHarness, hostile: str
    ) -> None:
        for each in ("\x00", "\x01", "\ufffe"):
            chart = {"type": "bar", "x": f"c{each}d", "y": "n"}
            assert save(world, definition("visualization", "hostile", chart=chart)).status_code == 200

            answer = self.picture(world, hostile, "x", column=f"c{each}d")

            assert answer.status_code == 200
            assert "c\ufffdd" in answer.text

    def test_a_title_that_an_earlier_version_has_saved_is_drawn(self, world: DeploymentHarness, hostile: str) -> None:
        store = world.opened.store
        before = store.document("pipeline", hostile)
        assert before is not None
        chart = {**before["chart"], "title": "old\x01title"}
        store.put_document(DocumentPut("pipeline", ResourceId(hostile), {**before, "chart": chart}))

        answer = self.picture(world, hostile, "x")

        assert answer.status_code == 200
        assert "old\ufffdtitle" in answer.text

    @pytest.mark.parametrize("kind", ["visualization", "saved_query"])
    def test_a_title_that_xml_cannot_hold_is_not_saved(self, world: DeploymentHarness, kind: str) -> None:
        chart = {"type": "bar", "x": "c", "y": "n", "title": "a\x01b"}

        answer = save(world, definition(kind, "untitled", chart=chart))

        assert answer.status_code == 422
        assert "`chart.title` contains U+0001" in answer.json()["detail"]

    def test_more_rows_than_a_chart_draws_are_refused_and_shown(self, world: DeploymentHarness, hostile: str) -> None:
        answer = self.picture(world, hostile, *map(str, range(MOST_DRAWN_ROWS + 1)))

        assert (answer.status_code, answer.json()["type"]) == (409, "urn:headgate:problem:no-chart")
        assert "1,001 rows, but at most 1,000 can be drawn" in answer.json()["detail"]
        assert len(world.call("vic", "GET", "/pipelines/hostile/rows").json()["rows"]) == MOST_DRAWN_ROWS + 1

    def test_a_heavy_chart_ends_within_its_limits_while_others_are_answered(
        self, world: DeploymentHarness, hostile: str
    ) -> None:
        other = world.organization("other", "nekt")
        pool = BlockingPool(replace(CHART_LIMITS, cpu_seconds=2, wall_seconds=50.0), CHARTS)
        answered = 0

        with drawn_by(world, pool), ThreadPoolExecutor(1) as threads:
            heavy = threads.submit(self.picture, world, hostile, "W" * 100_000)
            while not heavy.done():
                assert other.call("owner", "GET", "/pipelines").status_code == 200
                answered += 1

            assert (heavy.result().status_code, heavy.result().json()["type"]) == (409, "urn:headgate:problem:no-chart")
            assert "select fewer rows or shorter strings" in heavy.result().json()["detail"]
            assert answered >= 3
            assert self.picture(world, hostile, "x").status_code == 200

    def test_a_chart_request_with_too_many_others_waiting_is_to_be_retried(
        self, world: DeploymentHarness, hostile: str
    ) -> None:
        crowded = BlockingPool(CHART_LIMITS, replace(CHARTS, waiting_per_owner=0))

        with drawn_by(world, crowded):
            answer = self.picture(world, hostile, "x")

        assert (answer.status_code, answer.json()["type"]) == (503, "urn:headgate:problem:busy")
        assert "request the chart again" in answer.json()["detail"]
        assert answer.headers["retry-after"]


@pytest.fixture
def spark(world: DeploymentHarness) -> Iterator[DeploymentHarness]:
    """The same deployment with a fake Spark, which `has` sets."""
    before = world.app.state.deployed
    yield world
    world.app.state.deployed = before


def has(
    world: DeploymentHarness, *batches: pa.RecordBatch, error: StatementError | None = None, at_once: int = 16
) -> FakeSpark:
    """Execute all statements with this result from now on."""
    fake = FakeSpark(*batches, error=error)
    statements = StatementStore(fake, SqlLimits(at_once=at_once))
    world.app.state.deployed = replace(world.app.state.deployed, statements=statements, has_spark=lambda _: True)
    return fake


class TestASavedQuery:
    @pytest.fixture
    def kept(self, spark: DeploymentHarness) -> Iterator[str]:
        """A saved query of vic."""
        answer = save(spark, definition("saved_query", "mine"), "vic")
        assert answer.status_code == 200, answer.text
        yield "mine"
        spark.call("owner", "DELETE", "/pipelines/mine")

    def test_a_saved_query_runs_again_for_each_caller_that_opens_it(self, spark: DeploymentHarness, kept: str) -> None:
        fake = has(spark, pa.record_batch({"car<b>": ["a", None], "n.of[0]": [3, 4]}))

        answer = spark.call("vic", "GET", f"/pipelines/{kept}/rows").json()
        picture = spark.call("vic", "GET", f"/pipelines/{kept}/chart.svg")

        assert answer["rows"] == [["a", 3], [None, 4]]
        assert picture.text.startswith("<svg")
        assert [credential.token for credential, _ in fake.begun] == [spark.tokens["vic"]] * 2
        assert fake.last.wanted.text == "SELECT * FROM (\nSELECT * FROM lake.raw.t\n)"

    def test_a_saved_query_can_be_changed_and_deleted_only_by_its_author(
        self, spark: DeploymentHarness, kept: str
    ) -> None:
        for who in ("ed", "sam"):
            assert save(spark, definition("saved_query", kept), who).status_code in (404, 409)
            assert spark.call(who, "DELETE", f"/pipelines/{kept}").status_code == 404
        assert refusals(spark, f"{kept}/rows", "ed", "sam") == {404}
        assert save(spark, definition("saved_query", kept, chart=None), "vic").status_code == 200
        assert refusals(spark, f"{kept}/chart.svg", "vic") == {409}
        assert spark.call("vic", "DELETE", f"/pipelines/{kept}").status_code == 200

    def test_a_saved_query_that_spark_refuses_is_forbidden(self, spark: DeploymentHarness, kept: str) -> None:
        has(spark, error=StatementError("vic may not", REFUSED_STATE, "HEADGATE_ACCESS_DENIED"))

        assert refusals(spark, f"{kept}/rows", "vic") == {403}

    def test_a_saved_query_returns_no_more_rows_than_fit_into_one_answer(
        self, spark: DeploymentHarness, kept: str
    ) -> None:
        has(spark, *[pa.record_batch({"a": [[True] * 50_000] * 10})] * 10)

        answer = spark.call("vic", "GET", f"/pipelines/{kept}/rows")

        assert (len(answer.json()["rows"]), answer.json()["cut"]) == (5, True)
        assert len(answer.content) < MOST_BYTES

    def test_a_saved_query_with_a_first_row_that_is_too_large_is_refused(
        self, spark: DeploymentHarness, kept: str
    ) -> None:
        fake = has(spark, pa.record_batch({"a": [[True] * 1_000_000]}))

        answer = spark.call("vic", "GET", f"/pipelines/{kept}/rows")

        assert (answer.status_code, answer.json()["type"]) == (413, "urn:headgate:problem:too-large")
        assert fake.last.closed.is_set()

    def test_a_saved_query_counts_as_a_statement_until_it_is_read(self, spark: DeploymentHarness, kept: str) -> None:
        has(spark, at_once=1)
        statements = spark.app.state.deployed.statements
        other = statements.begin(
            spark.tokens["vic"], spark.caller("vic").principal, StatementRequest("SELECT 1", None, 1, 1, 1.0)
        )

        assert refusals(spark, f"{kept}/rows", "vic") == {429}
        other.close()
        assert [refusals(spark, f"{kept}/rows", "vic") for _ in range(3)] == [{200}] * 3

    def test_a_saved_query_cannot_be_run_as_a_pipeline(self, spark: DeploymentHarness, kept: str) -> None:
        assert spark.call("vic", "POST", f"/pipelines/{kept}/runs").status_code in (403, 404, 409, 422)


class TestASelect:
    def test_a_select_that_reads_its_declared_inputs_is_saved(self, spark: DeploymentHarness) -> None:
        fake = has(spark, pa.record_batch({"plan": [PLAN.format("raw.t")]}))

        assert save(spark, definition("visualization", "honest")).status_code == 200
        assert fake.last.wanted.text.startswith("EXPLAIN EXTENDED SELECT * FROM (\n")
        assert fake.begun[-1][0].token == spark.tokens["ed"]

    @pytest.mark.parametrize(
        ("plan", "words"),
        [
            (PLAN.format("secret.s"), "lacks `lake.secret.s`, which the SELECT reads; add it to `inputs`"),
            (PLAN.format("raw.t").replace("Analyzed", "Parsed"), "lists `lake.raw.t`, which the SELECT does not read"),
            (
                "Error occurred during query planning:\nno column `x`",
                "cannot analyze the SELECT of the definition: no column `x`",
            ),
        ],
    )
    def test_a_select_that_does_not_match_its_inputs_is_refused(
        self, spark: DeploymentHarness, plan: str, words: str
    ) -> None:
        has(spark, pa.record_batch({"plan": [plan]}))

        answer = save(spark, definition("visualization", "other"))

        assert answer.status_code == 422
        assert words in answer.json()["detail"]

    def test_an_invalid_select_is_refused_and_one_that_cannot_be_checked_is_saved(
        self, spark: DeploymentHarness
    ) -> None:
        codes: list[int] = []
        right = with_request_link(
            "ed: there is no `lake.raw.t` that you may see", "/api/v1/requests?action=table.select"
        )
        for words, state in (("no", "42601"), ("too deep", "54001"), (right, REFUSED_STATE), ("no Spark", None)):
            has(spark, error=StatementError(words, state, None))
            codes.append(save(spark, definition("visualization", "mistaken")).status_code)

        assert codes == [422, 422, 200, 200]

    def test_a_select_is_refused_when_its_author_has_too_many_statements_to_check_it(
        self, spark: DeploymentHarness
    ) -> None:
        has(spark, at_once=1)
        principal = spark.caller("ed").principal
        spark.app.state.deployed.statements.begin(
            spark.tokens["ed"], principal, StatementRequest("SELECT 1", None, 1, 1, 1.0)
        )

        assert save(spark, definition("visualization", "unread")).status_code == 429

    def test_a_select_with_a_forbidden_function_is_refused(self, spark: DeploymentHarness) -> None:
        words = "the function `java_method` is refused: Headgate allows only reviewed functions"
        has(spark, error=StatementError(words, REFUSED_STATE, "HEADGATE_ACCESS_DENIED"))

        answer = save(spark, definition("visualization", "refused"))

        assert (answer.status_code, answer.json()["detail"]) == (
            422,
            f"Spark cannot analyze the SELECT of the definition: {words}",
        )

    def test_a_select_of_a_caller_that_may_not_save_it_is_not_sent_to_spark(self, spark: DeploymentHarness) -> None:
        fake = has(spark)

        assert save(spark, definition("visualization", "theirs"), "sam").status_code in (403, 404)
        assert fake.begun == []


@pytest.mark.parametrize("kind", ["saved_query", "visualization"])
def test_the_check_of_a_select_reveals_no_path_or_host_of_the_server(spark: DeploymentHarness, kind: str) -> None:
    failed = "Error occurred during query planning: \nsystemId: file:///data/keys/secrets.key; 127.0.0.1:8020\nat x.Y"
    has(spark, pa.record_batch({"plan": [failed]}))

    answer = save(spark, definition(kind, "probing"))

    assert answer.status_code == 422
    assert answer.json()["detail"] == "Spark cannot analyze the SELECT of the definition: systemId: <path>; <host>"
