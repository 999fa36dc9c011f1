"""SQL over HTTP on a real Spark, and the refusals of each endpoint.

The documentation pages about both are run here too.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from headgate.app.server import Server
from headgate.endpoints.api.sql.schemas import ARROW
from headgate.spark.sql.client import connect
from tests.journeys.sql_person import Person, add_viewer, owner_of, variables
from tests.repo.sessions import BLOCK, Step, ran, session

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

DOCS = Path(__file__).resolve().parents[2] / "docs"
SLOW = "SELECT count(*) AS n FROM range(0, 100000000000, 1, 1) WHERE hash(id) = 5"
"""Takes longer than any test, in one task, so that other statements have free slots."""
_DEFAULT = '{"name": "b", "type": "string", "nullable": true, "metadata": {"EXISTS_DEFAULT": "session_user()"}}'
_TYPE = '{"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "pyClass": null, "sqlType": "integer"}'
OPENING = [
    "from_xml('<r/>', 'a STRING', map('rowValidationXSDPath', '/etc/passwd'))",
    "from_xml('<r/>', schema_of_xml('<r/>', map('rowValidationXSDPath', '/etc/passwd')))",
    f'from_csv(\'1\', r\'{{"type": "struct", "fields": [{_DEFAULT}]}}\')',
    f'from_json(\'{{}}\', r\'{{"type": "struct", "fields": [{{"name": "a", "type": {_TYPE}, "nullable": true}}]}}\')',
]
DEEP = f"SELECT {'(' * 3000}n{')' * 3000} AS n FROM lake.raw.t"
READING = [
    "SELECT n FROM lake.raw.t",
    "BEGIN SELECT n FROM lake.raw.t; END",
    "BEGIN DECLARE found INT; SET found = (SELECT max(n) FROM lake.raw.t); SELECT found; END",
    "EXECUTE IMMEDIATE 'SELECT n FROM lake.raw.t'",
    "EXPLAIN SELECT n FROM lake.raw.t",
    "DESCRIBE TABLE EXTENDED lake.raw.t",
    "SHOW COLUMNS IN lake.raw.t",
    "SHOW CREATE TABLE lake.raw.t",
    "SHOW TBLPROPERTIES lake.raw.t",
    "SHOW TABLES IN lake.raw",
]
"""Statements whose rows are of `lake.raw`; for most of them Spark returns rows without a plan."""


@dataclass(frozen=True)
class Rebound:
    """A statement whose names mean `lake.raw.t` after the statements `before`, and readable data after `after`."""

    before: tuple[str, ...]
    statement: str
    after: tuple[str, ...]


REBOUND = [
    Rebound(
        ("CREATE TEMPORARY VIEW x AS SELECT n FROM lake.raw.t",),
        "SELECT * FROM x",
        ("CREATE OR REPLACE TEMPORARY VIEW x AS SELECT 1 AS n",),
    ),
    Rebound(("USE lake.raw",), "SELECT n FROM t", ("USE lake.open",)),
    Rebound(
        ("DECLARE VARIABLE v STRING", "SET VAR v = 'lake.raw.t'"),
        "SELECT n FROM IDENTIFIER(v)",
        ("SET VAR v = 'lake.open.t'",),
    ),
]


@contextmanager
def revoked(owner: Person) -> Iterator[None]:
    """Revoke vic's role on `lake.raw` until the block ends."""
    role = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}
    assert owner.http.delete("/assignments", params=role).is_success
    try:
        yield
    finally:
        assert owner.http.post("/assignments", json=role).is_success


@pytest.fixture(scope="module")
def owner(server: Server) -> Person:
    person = owner_of(server)
    for name in ("raw", "open", "secret"):
        assert person.http.post("/databases", json={"name": name}).is_success
    person.rows("CREATE TABLE lake.raw.t AS SELECT 1 AS n")
    person.rows("CREATE TABLE lake.open.t AS SELECT 2 AS n")
    person.rows("CREATE TABLE lake.secret.s AS SELECT 'top' AS word")
    return person


@pytest.fixture(scope="module")
def vic(server: Server, owner: Person) -> Person:
    """A user who reads `raw` and `open` and can discover nothing else."""
    return add_viewer(server, owner, "vic", "raw", "open")


class TestAStatement:
    @pytest.mark.parametrize(
        ("statement", "parameters", "row"),
        [
            ("SELECT :n + 1, :t, :x, :b, :f", {"n": 1, "t": "it's", "x": None, "b": True, "f": 1.5}, [2, "it's", None, True, 1.5]),
            ("SELECT ? || ?, CAST(? AS DATE)", ["a", "b", "2026-11-21"], ["ab", "2026-11-21"]),
            ("SELECT count(*) FROM IDENTIFIER(:t)", {"t": "lake.raw.t"}, [1]),
        ],
    )  # fmt: skip
    def test_a_statement_takes_parameters(self, owner: Person, statement: str, parameters: Any, row: list[Any]) -> None:
        assert owner.rows(statement, parameters=parameters) == [row]

    def test_a_statement_returns_rows_of_nested_and_empty_types(self, owner: Person) -> None:
        values = "array(), map(), NULL, array(NULL), map('a', array(struct(1 AS x))), INTERVAL '1' DAY, parse_json('1') IS NULL"

        assert owner.rows(f"SELECT {values}") == [[[], [], None, [None], [["a", [{"x": 1}]]], "P1D", False]]

    @pytest.mark.parametrize(
        ("value", "advice"),
        [
            ("cast(X'FF' AS STRING)", "make_valid_utf8"),
            ("INTERVAL '1' YEAR", "cast it to a string"),
            ("array(" * 70 + "1" + ")" * 70, "flatten the columns"),
        ],
    )
    def test_a_statement_with_unreadable_rows_says_what_to_select(self, owner: Person, value: str, advice: str) -> None:
        answer = owner.sql(f"SELECT {value} AS c")

        assert answer.status_code == 400
        assert advice in answer.json()["detail"]

    def test_a_statement_with_unreadable_rows_leaves_the_session_usable(self, owner: Person) -> None:
        owner.rows("CREATE TEMPORARY VIEW still_there AS SELECT 1 AS n")

        assert owner.sql("SELECT cast(X'FF' AS STRING) AS c").status_code == 400
        assert owner.rows("SELECT n FROM still_there") == [[1]]

    def test_a_request_with_two_statements_is_refused(self, owner: Person) -> None:
        assert owner.rows("SELECT ';' ;") == [[";"]]

        answer = owner.sql("SELECT 1; SELECT 2")

        assert (answer.status_code, answer.json()["type"]) == (422, "urn:headgate:problem:several-statements")

    @pytest.mark.parametrize("expression", OPENING)
    def test_a_statement_with_a_forbidden_function_argument_is_refused(
        self, owner: Person, vic: Person, expression: str
    ) -> None:
        for person in (owner, vic):
            for text in (
                f"SELECT {expression}",
                f"EXPLAIN SELECT {expression}",
                f"CREATE VIEW lake.raw.v AS SELECT {expression} AS x",
            ):
                answer = person.sql(text)
                assert answer.status_code == 403, answer.text
                assert "root:" not in answer.text

    @pytest.mark.parametrize("text", [*(f"SELECT {each} AS x FROM lake.raw.t" for each in OPENING), DEEP])
    @pytest.mark.parametrize("kind", ["query", "saved_query"])
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_a_statement_that_no_right_would_allow_is_saved_in_no_pipeline(
        self, owner: Person, text: str, kind: str, *, dry_run: bool
    ) -> None:
        definition = {"kind": kind, "name": "refused", "sql": text, "inputs": ["lake.raw.t"]}
        if kind == "query":
            definition["into"] = "lake.raw.made"

        refused = owner.http.put("/pipelines/refused", params={"dry_run": dry_run}, json=definition)

        said = owner.sql(text).json()["detail"]
        assert (refused.status_code, said in refused.json()["detail"]) == (422, True), refused.text
        assert owner.http.get("/pipelines/refused").status_code == 404

    def test_a_statement_that_a_right_would_allow_is_saved_in_a_pipeline(self, vic: Person) -> None:
        """A statement on a hidden table is saved like one on a missing table.

        The runs are authorized with the privileges of their run-as principal.
        """
        answers = [
            vic.http.put(
                "/pipelines/hopeful",
                params={"dry_run": True},
                json={
                    "kind": "saved_query",
                    "name": "hopeful",
                    "sql": f"SELECT * FROM {name}",
                    "inputs": ["lake.raw.t"],
                },
            )
            for name in ("lake.secret.s", "lake.secret.nosuch")
        ]

        assert [each.status_code for each in answers] == [200, 200], answers[0].text

    def test_a_statement_that_is_too_deep_is_refused_with_a_sentence(self, owner: Person, vic: Person) -> None:
        for person in (owner, vic):
            for text in (DEEP, f"EXPLAIN {DEEP}", f"CREATE VIEW lake.raw.v AS {DEEP}"):
                answer = person.sql(text)
                assert (answer.status_code, answer.json()["sqlstate"]) == (400, "54001"), answer.text
                assert "levels deep" in answer.json()["detail"]

    @pytest.mark.parametrize("name", ["t", "seen"])
    def test_a_statement_shows_no_statistics_to_a_caller_that_may_not_read(
        self, server: Server, owner: Person, name: str
    ) -> None:
        owner.rows("CREATE OR REPLACE VIEW lake.raw.seen AS SELECT n FROM lake.raw.t")
        actions = ["lake.describe", "database.describe", "table.describe"]
        describer = Person(server, owner.http.post("/tokens", json={"actions": actions}).json()["token"])

        shown = [describer.rows(f"DESCRIBE {word} lake.raw.{name}") for word in ("EXTENDED", "FORMATTED")]

        assert describer.sql(f"SELECT count(*) FROM lake.raw.{name}").status_code == 403
        assert [[row[0] for row in rows if row[0] in ("n", "Statistics")] for rows in shown] == [["n"], ["n"]]
        assert not any("rows" in str(row) for rows in shown for row in rows)
        assert any(row[0] == "Statistics" for row in owner.rows("DESCRIBE EXTENDED lake.raw.t"))

    def test_a_failed_explain_returns_an_error_without_paths(self, server: Server, owner: Person) -> None:
        before = set(server.settings.folder.rglob("*.avro"))
        owner.rows("CREATE TABLE lake.raw.broken AS SELECT 1 AS n")
        for manifest in set(server.settings.folder.rglob("*.avro")) - before:
            manifest.unlink()

        for mode in ("", "EXTENDED", "FORMATTED", "CODEGEN", "COST"):
            answer = owner.sql(f"EXPLAIN {mode} SELECT * FROM lake.raw.broken WHERE n = 1")
            assert answer.status_code == 400, answer.text
            assert answer.json()["detail"].endswith("Failed to open input stream for file: <path>")
            assert "metadata" not in answer.text
        owner.rows("DROP TABLE lake.raw.broken")

    def test_a_statement_streams_its_rows_as_arrow(self, owner: Person) -> None:
        answer = owner.sql("SELECT id, CAST(id AS STRING) AS s FROM range(300000)", ARROW)

        table = pa.ipc.open_stream(answer.content).read_all()
        assert (table.num_rows, table.column_names) == (300_000, ["id", "s"])
        assert pa.ipc.open_stream(owner.sql("SELECT 1 AS n WHERE false", ARROW).content).read_all().num_rows == 0

    def test_a_statement_reports_its_progress_and_ends_when_it_is_cancelled(self, owner: Person) -> None:
        started = owner.sql(SLOW, wait_seconds=0)
        path = f"/sql/{started.json()['id']}"
        seen = {"tasks": 0}
        until = time.monotonic() + 60
        while not seen["tasks"] and time.monotonic() < until:
            seen = owner.http.get(path, params={"wait_seconds": 0.2}).json()["progress"]

        assert started.status_code == 202
        assert seen["tasks"] > 0
        assert owner.http.delete(path).status_code == 204
        assert owner.http.get(path).status_code == 404
        assert owner.rows("SELECT 1") == [[1]]

    def test_a_statement_lasts_no_longer_than_its_time_limit(self, owner: Person) -> None:
        answer = owner.sql(SLOW, seconds=1)

        assert (answer.status_code, answer.json()["sqlstate"]) == (409, "57014")
        assert "longer than 1 seconds" in answer.json()["detail"]

    def test_a_statement_runs_beside_another_one_of_the_same_session(self, owner: Person) -> None:
        owner.rows("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT 7 AS n")
        slow = owner.sql(SLOW, wait_seconds=0).json()["id"]

        try:
            with ThreadPoolExecutor(4) as several:
                found = list(several.map(lambda _: owner.rows("SELECT n FROM mine"), range(4)))
            state = owner.http.get(f"/sql/{slow}").json()["state"]
        finally:
            owner.http.delete(f"/sql/{slow}")

        assert found == [[[7]]] * 4
        assert state == "running"

    @pytest.mark.parametrize("statement", READING)
    def test_stored_rows_are_returned_only_to_a_caller_that_may_read_them_now(
        self, owner: Person, vic: Person, statement: str
    ) -> None:
        path = f"/sql/{vic.sql(statement, wait_seconds=0).json()['id']}"
        rows = vic.http.get(path, params={"wait_seconds": 60}).json()["rows"]
        assert rows

        with revoked(owner):
            refused = vic.http.get(path)

        assert (refused.status_code, refused.json().get("sqlstate")) == (403, "42501")
        assert vic.http.get(path).json()["rows"] == rows

    @pytest.mark.parametrize("rebound", REBOUND, ids=lambda rebound: rebound.statement)
    def test_stored_rows_are_decided_by_the_tables_that_the_statement_read(
        self, server: Server, owner: Person, vic: Person, rebound: Rebound
    ) -> None:
        person = Person(server, owner.http.post("/tokens", json={"principal": "vic"}).json()["token"])
        for each in rebound.before:
            person.rows(each)
        path = f"/sql/{person.sql(rebound.statement, wait_seconds=0).json()['id']}"
        assert person.http.get(path, params={"wait_seconds": 60}).json()["rows"] == [[1]]

        with revoked(owner):
            for each in rebound.after:
                person.rows(each)
            refused = person.http.get(path)

        assert (refused.status_code, refused.json().get("sqlstate")) == (403, "42501")
        assert vic.rows("SELECT n FROM lake.raw.t") == [[1]]

    def test_a_statement_without_rows_is_shown_although_its_table_is_gone(self, owner: Person) -> None:
        owner.rows("CREATE TABLE lake.raw.dropped (n INT)")

        path = f"/sql/{owner.sql('DROP TABLE lake.raw.dropped', wait_seconds=0).json()['id']}"

        assert owner.http.get(path, params={"wait_seconds": 60}).json()["state"] == "succeeded"

    def test_a_statement_of_another_token_sees_nothing_of_the_session(self, server: Server, owner: Person) -> None:
        owner.rows("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT 7 AS n")
        other = Person(server, owner.http.post("/tokens", json={}).json()["token"])

        assert not other.sql("SELECT n FROM mine").is_success


class TestARefusal:
    @pytest.mark.parametrize("accept", ["*/*", ARROW])
    def test_a_refusal_reads_the_same_for_a_hidden_and_a_missing_table(self, vic: Person, accept: str) -> None:
        hidden, missing = (vic.sql(f"SELECT * FROM lake.secret.{name}", accept) for name in ("s", "nosuch"))

        assert hidden.status_code == missing.status_code == 403
        assert hidden.text.replace("lake.secret.s", "IT") == missing.text.replace("lake.secret.nosuch", "IT")

    def test_a_refusal_says_why_and_names_the_missing_privilege_and_where_to_ask(
        self, server: Server, vic: Person
    ) -> None:
        problem = vic.sql("INSERT INTO lake.raw.t VALUES (2)").json()

        assert problem["sqlstate"] == "42501"
        assert "you do not hold `editor` on `lake.raw.t`" in problem["reason"]
        assert problem["missing"] == [{"action": "table.insert", "resource": "lake.raw.t"}]
        assert problem["ask"].startswith(f"{server.url}/o/")

    def test_a_refusal_leads_to_a_request_for_access(self, vic: Person) -> None:
        problem = vic.sql("SELECT * FROM lake.secret.asked").json()
        assert vic.http.get(problem["ask"]).json()["items"] == []

        filed = vic.http.post(problem["ask"].split("?")[0], json={**problem["missing"][0], "purpose": "to see"})

        assert filed.status_code == 201
        assert [each["state"] for each in vic.http.get(problem["ask"]).json()["items"]] == ["requested"]

    def test_a_refusal_over_spark_connect_ends_with_the_same_link(self, server: Server, vic: Person) -> None:
        spark = connect(server.gateway_port, vic.token)
        with pytest.raises(PySparkException) as raised:
            spark.sql("SELECT * FROM lake.secret.s").collect()
        spark.stop()

        assert raised.value.getSqlState() == "42501"
        link = f"{server.url}/o/organization/api/v1/requests?action=table.select&resource=lake.secret.s"
        assert f"To ask for access: {link}" in str(raised.value)

    def test_a_wrong_name_in_a_visible_database_is_an_error_and_no_refusal(self, vic: Person) -> None:
        answer = vic.sql("SELECT * FROM lake.raw.nosuch")

        assert (answer.status_code, answer.json()["sqlstate"]) == (400, "42P01")


def require_as_shown(step: Step, server: Server, folder: Path) -> None:
    """Run a step of a shell session in a folder; its output and exit code must be those of the page."""
    found = ran(step.command, folder, variables(server))

    assert step.matches(found.stdout.replace(server.url, "http://127.0.0.1:8020")), f"$ {step.command}\n{found.stdout}"
    assert found.returncode == step.code, f"$ {step.command}\n{found.stdout}"


@pytest.mark.parametrize(
    "page",
    [
        "sql.md",
        "refused.md",
        "operate/serve-a-model.md",
        pytest.param("operate/two-organizations.md", marks=pytest.mark.soak),
    ],
)
def test_the_page_works_as_it_says(server: Server, page: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    steps = [step for _, run, _, body in blocks if run for step in session(body)]
    for _, _, file, body in blocks:
        if file:
            (tmp_path / file).write_text(body, encoding="utf-8")

    assert steps, "the page shows no session"
    for step in steps:
        require_as_shown(step, server, tmp_path)


README = [
    step
    for _, run, _, body in BLOCK.findall((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    if run
    for step in session(body)
]
"""The steps of the README: a query of an own table, a refusal, a request, an approval, a successful query, the API."""


@pytest.fixture(scope="module")
def newcomers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("newcomer")


@pytest.mark.parametrize("step", README, ids=lambda step: step.command)
def test_each_step_of_the_readme_works_after_the_ones_before_it(
    step: Step, server: Server, newcomers_folder: Path
) -> None:
    require_as_shown(step, server, newcomers_folder)


def test_the_readme_shows_a_refusal_a_request_an_approval_and_the_query_that_works_then() -> None:
    shown = [step.command for step in README]

    assert len(shown) > 15
    for each in ("headgate sql", "# exit code 1", "request create", "request approve", "headgate api POST"):
        assert any(each in command for command in shown), each
